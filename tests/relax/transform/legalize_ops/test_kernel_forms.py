"""The stages, names and annotations of kernels that schedules ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.relax.op.cases import var
from tvm import relax, tir
from tvm.ir import IRModule
from tvm.ir.structural import assert_structural_equal
from tvm.relax import op
from tvm.relax.transform import LegalizeOps
from tvm.script import tir as T

pytestmark = pytest.mark.pure


def legal(build: Callable[..., Any], *params: relax.Var) -> IRModule:
    """The call legalised; its operands are named A, B, C, ..."""
    bb = relax.BlockBuilder()
    named = [relax.Var(name, param.struct_info) for name, param in zip("ABCDEFGH", params)]
    with bb.function("main", named):
        bb.emit_func_output(bb.emit(build(*named)))
    return LegalizeOps()(bb.get())


def kernel(build: Callable[..., Any], *params: relax.Var) -> tuple[str, tir.PrimFunc]:
    """The only kernel, and its name."""
    named = [relax.Var("ABC"[i], param.struct_info) for i, param in enumerate(params)]
    mod = legal(build, *named)
    [(name, func)] = [(v.name_hint, f) for v, f in mod.functions.items()
                      if isinstance(f, tir.PrimFunc)]  # fmt: skip
    return name, func


def blocks(func: tir.PrimFunc) -> list[str]:
    found: list[str] = []

    def visit(node: Any) -> None:
        if isinstance(node, tir.Block) and node.name_hint != "root":
            found.append(node.name_hint)

    tir.stmt_functor.post_order_visit(func.body, visit)
    return found


def test_new_dimensions_are_one_copy() -> None:
    @T.prim_func(private=True)
    def expected(
        A: T.Buffer((T.int64(2), T.int64(3)), "float32"),
        B: T.Buffer((T.int64(2), T.int64(1), T.int64(3), T.int64(1)), "float32"),
    ):
        T.func_attr({"tir.noalias": True})
        for i0, i1, i2, i3 in T.grid(T.int64(2), T.int64(1), T.int64(3), T.int64(1)):
            with T.block("expand_dims"):
                v0, v1, v2, v3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
                T.reads(A[v0, v2])
                T.writes(B[v0, v1, v2, v3])
                B[v0, v1, v2, v3] = A[v0, v2]

    name, func = kernel(lambda x: op.expand_dims(x, [-1, 1]), var(2, 3))
    assert name == "expand_dims"
    assert_structural_equal(func, expected)


def test_filled_tensors_take_no_tensor() -> None:
    x = var(2, 3)
    for build, wanted in (
        (lambda x: op.zeros_like(x), "zeros"),
        (lambda x: op.ones_like(x, "int8"), "ones"),
        (lambda x: op.full_like(x, relax.const(3, "float32")), "full"),
        (lambda x: op.full((2, 3), relax.const(3.5, "float32"), "int32"), "full"),
    ):
        name, func = kernel(build, x)
        assert name == wanted
        assert len(func.params) == 1


@pytest.mark.parametrize(("given", "wanted"), [(2, "T_split_sections"), ([1], "T_split")])
def test_pieces(given: Any, wanted: str) -> None:
    _, func = kernel(lambda x: op.split(x, given, axis=1), var(2, 4))
    assert blocks(func) == [wanted, f"{wanted}_1"]


def test_layouts_are_made_by_the_schedule() -> None:
    def apply(extent: int, **options: Any) -> tuple[str, tir.PrimFunc]:
        return kernel(
            lambda x: op.layout_transform(x, lambda a, b: (b // 4, a, b % 4), **options),
            var(3, extent),
        )

    @T.prim_func(private=True)
    def expected(
        A: T.Buffer((T.int64(3), T.int64(8)), "float32"),
        B: T.Buffer((T.int64(2), T.int64(3), T.int64(4)), "float32"),
    ):
        T.func_attr({"tir.noalias": True})
        for i0, i1 in T.grid(T.int64(3), T.int64(8)):
            with T.block("te_layout_transform"):
                v0, v1 = T.axis.remap("SS", [i0, i1])
                T.reads(A[v0, v1])
                T.writes(B[v1 // T.int64(4), v0, v1 % T.int64(4)])
                B[v1 // T.int64(4), v0, v1 % T.int64(4)] = A[v0, v1]

    name, func = apply(8)
    assert name == "te_layout_transform"
    assert_structural_equal(func, expected)
    assert apply(7)[0] == "te_layout_transform_with_pad"
    name, func = apply(8, axis_separators=[1], input_axis_separators=[1])
    assert name == "te_layout_transform_axis_separator"
    assert [len(b.axis_separators) for b in func.buffer_map.values()] == [1, 1]


def test_transposed_convolutions_mirror_the_kernel_first() -> None:
    names = ["data_dilate", "data_pad", "kernel", "compute"]
    data, weight = var(1, 4, 5), var(4, 2, 3, name="w")
    _, func = kernel(lambda x, w: op.nn.conv1d_transpose(x, w, strides=2), data, weight)
    assert blocks(func) == names
    data, weight = var(1, 4, 5, 5), var(4, 2, 3, 3, name="w")
    _, func = kernel(lambda x, w: op.nn.conv2d_transpose(x, w, groups=2), data, weight)
    assert blocks(func) == ["data_dilate", "data_pad", "kernel_transform", "compute"]


def test_maxima_of_windows_name_their_rule() -> None:
    _, func = kernel(lambda x: op.nn.max_pool2d(x, (2, 2)), var(1, 2, 6, 6))
    assert "meta_schedule.pool_max" in func.script()


def test_means_divide() -> None:
    _, func = kernel(lambda x: op.mean(x, axis=1), var(2, 4))
    assert "/ T.float32(4.0)" in func.script()


def test_slices_by_tensors_compute_their_shape_first() -> None:
    ends = [var(2, dtype="int64", name=name) for name in ("begin", "end", "strides")]
    mod = legal(op.dynamic_strided_slice, var(8, 9), *ends)
    assert {v.name_hint for v in mod.functions} == {"main", "shape_func", "dynamic_strided_slice"}
    assert 'R.call_pure_packed("vm.builtin.tensor_to_shape"' in mod["main"].script()
    assert relax.analysis.well_formed(mod)  # the function is pure, and stays so


def test_a_single_slope_is_broadcast_first() -> None:
    _, func = kernel(op.nn.prelu, var(2, 3), var(1))
    assert blocks(func) == ["slope_broadcasted", "compute"]
    assert func.body.block.alloc_buffers[0].shape == (3,)
    _, func = kernel(op.nn.prelu, var(2, 3), var(3))
    assert blocks(func) == ["compute"]


def test_conditions_are_compared_as_integers() -> None:
    _, func = kernel(op.where, var(3, dtype="bool"), var(3), var(3))
    assert "T.Select(T.int64(0) < T.Cast(\"int64\", A[v_ax0]), B[v_ax0], C[v_ax0])" in str(func)


def test_scales_that_are_constants_are_numbers() -> None:
    scale, zero = relax.const(0.5, "float32"), relax.const(3, "int8")
    _, func = kernel(lambda x: op.quantize(x, scale, zero), var(2, 4))
    assert len(func.params) == 2
    assert "T.float32(3.0)" in str(func)
    _, func = kernel(lambda x: op.dequantize(x, scale, zero), var(2, 4, dtype="int8"))
    assert len(func.params) == 2
    assert "* T.float32(0.5)" in str(func)


def stored(func: tir.PrimFunc) -> str:
    """The text of what the last block stores."""
    return func.script().rstrip().splitlines()[-1].partition(" = ")[2]


def test_conditions_and_places_of_symbolic_extents_stay_as_written() -> None:
    a, b, c = (tir.Var(name, "int64") for name in "abc")
    parts = [var(n) for n in (a, b, c)]
    _, joined = kernel(lambda *xs: op.concat(list(xs), 0), *parts)
    assert "T.if_then_else(T.int64(0) <= v_ax0 - a - b, " in stored(joined)
    assert "T.if_then_else(T.int64(0) <= v_ax0 - a, " in stored(joined)
    _, flat = kernel(lambda x: op.reshape(x, (tir.floordiv(a, 2), b * 2)), var(a, b))
    place = "(v_ax0 * b * T.int64(2) + v_ax1)"
    assert stored(flat) == f"A[{place} // b % a, {place} % b]"


def test_comparisons_with_truth_values_stay() -> None:
    _, same = kernel(lambda x: op.equal(x, relax.const(True, "bool")), var(4, dtype="bool"))
    assert stored(same) == "A[v_ax0] == T.bool(True)"


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (op.exp, "tir_exp"), (op.square, "tir_square"), (op.isnan, "tir_isnan"),
        (op.sign, "tir_sign"), (op.erf, "erf"), (lambda x: op.clip(x, 0, 3), "tir_clip"),
        (op.nn.relu6, "tir_clip"), (op.nn.relu, "relu"),
        (lambda x: op.nn.pad(x, (1, 1), "reflect"), "reflect_pad"),
        (lambda x: op.nn.pad(x, (1, 1), "replicate"), "replicate_pad"),
        (lambda x: op.nn.pad(x, (1, 1), "circular"), "circular_pad"),
        (lambda x: op.nn.pad(x, (1, 1)), "pad"),
    ],
)  # fmt: skip
def test_kernels_have_the_names_of_what_they_compute(build: Any, name: str) -> None:
    assert kernel(build, var(4))[0] == name


def test_kernels_that_pick_and_losses_have_their_names() -> None:
    places = var(4, 2, dtype="int64")
    assert kernel(lambda x, i: op.gather_nd(x, i), var(4, 3), places)[0] == "te_gather_nd"
    assert kernel(lambda x, i: op.gather_elements(x, i, 1), var(4, 3), places)[0] == "gather"
    classes = var(4, dtype="int64")
    assert kernel(op.nn.nll_loss, var(4, 3), classes)[0] == "nll_loss_without_weight"
    assert kernel(op.nn.nll_loss, var(4, 3), classes, var(3))[0] == "nll_loss"


def test_padding_on_one_side_is_compared_with_both_ends() -> None:
    _, padded = kernel(lambda x: op.nn.pad(x, (0, 2)), var(4))
    assert "T.if_then_else(T.int64(0) <= v_i0 and v_i0 < T.int64(4), A[v_i0], " in stored(padded)
    _, turned = kernel(lambda x: op.nn.pad(x, (2, 2), "circular"), var(5))
    assert stored(turned) == "A[(v_i0 + T.int64(3)) % T.int64(5)]"


def test_places_in_the_flat_tensor_go_round() -> None:
    _, taken = kernel(lambda x, i: op.take(x, i), var(5), var(3, dtype="int64"))
    assert stored(taken) == "A[B[v_ax0] % T.int64(5)]"


def test_softplus_scales_in_the_type_of_the_tensor() -> None:
    _, soft = kernel(lambda x: op.nn.softplus(x, 1.5, 15.0), var(5))
    assert "T.Select(T.float32(15.0) < T.float32(1.5) * A[v_i0], A[v_i0], " in stored(soft)
    assert "T.float32(0.66666668653488159) * T.log(" in stored(soft)


def test_log_softmax_reads_the_tensor_along_any_axis() -> None:
    _, func = kernel(lambda x: op.nn.log_softmax(x, 1), var(2, 3, 4))
    assert blocks(func) == ["T_softmax_maxelem", "compute", "compute_1"]
    assert "A[v_i0, v_i1, v_i2] - T_softmax_maxelem[v_i0, v_i2] - T.log(" in stored(func)


def test_gradients_of_maxima_pad_only_what_has_a_padding() -> None:
    def gradient(g: relax.Expr, x: relax.Expr, **options: Any) -> relax.Call:
        return op.grad.max_pool2d_backward(g, x, (2, 2), (2, 2), **options)

    _, plain = kernel(gradient, var(1, 2, 4, 4), var(1, 2, 8, 8, name="x"))
    assert blocks(plain) == ["maxpool_grad_argmax", "T_pool_grad"]
    _, ceil = kernel(
        lambda g, x: gradient(g, x, ceil_mode=True), var(1, 2, 4, 4), var(1, 2, 8, 7, name="x")
    )
    assert blocks(ceil) == ["pad_temp", "maxpool_grad_argmax", "T_pool_grad"]


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_positions_that_a_tensor_holds_keep_their_type(dtype: str) -> None:
    _, taken = kernel(lambda x, i: op.take(x, i, 0), var(5, 6), var(3, dtype=dtype, name="i"))
    assert stored(taken) == "A[B[v_ax0], v_ax1]"
    _, gathered = kernel(
        lambda x, i: op.gather_elements(x, i, 1), var(5, 6), var(5, 2, dtype=dtype, name="i")
    )
    assert stored(gathered) == "A[v_ax0, B[v_ax0, v_ax1]]"
