"""Odd cases of operators that make tensors."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import info, shape_of, var
from tvm import relax, tir
from tvm.error import TVMError
from tvm.ir.structural import structural_equal
from tvm.relax import op

pytestmark = pytest.mark.pure

N = tir.Var("n", "int64")


def test_shapes_as_lists_expressions_and_variables() -> None:
    assert shape_of(op.zeros((N, 2), "float32")) == (N, 2)
    assert shape_of(op.ones([3], "int32")) == (3,)
    for number in (3, N):
        with pytest.raises(TVMError, match="a shape is no single number"):
            op.ones(number, "int32")
    s = relax.Var("s", relax.ShapeStructInfo(ndim=2))
    assert info(op.zeros(s, "float32")).shape is s


def test_fill_value_is_a_scalar() -> None:
    assert info(op.full((2,), relax.const(1, "int8"))).dtype == "int8"
    assert info(op.full((2,), relax.const(1, "int8"), "float16")).dtype == "float16"
    with pytest.raises(TVMError, match="fill_value must be a scalar tensor"):
        info(op.full((2,), var(3)))


def test_dtype_is_needed() -> None:
    with pytest.raises(TypeError, match="the dtype must be given"):
        op.zeros((2,), None)


@pytest.mark.parametrize(
    ("args", "count", "dtype"),
    [
        ((5,), 5, "int64"),
        ((1, 10, 3), 3, "int64"),
        ((10, 1, -3), 3, "int64"),
        ((5, 1), 0, "int64"),
        ((0.0, 1.0, 0.25), 4, "float32"),
    ],
)
def test_lengths_of_ranges(args: tuple[float, ...], count: int, dtype: str) -> None:
    call = op.arange(*args)
    assert shape_of(call) == (count,)
    assert info(call).dtype == dtype


def test_range_over_a_symbol() -> None:
    (extent,) = shape_of(op.arange(N))
    assert tir.interp.evaluate(extent, {N: 7}) == 7
    with pytest.raises(TVMError, match="step is 0"):
        info(op.arange(0, 5, 0))


def test_triangles_need_two_dimensions() -> None:
    with pytest.raises(TVMError, match=r"relax\.tril: x must have at least 2 dimensions"):
        info(op.tril(var(3)))


def test_identity_and_window() -> None:
    assert shape_of(op.eye(N, 3)) == (N, 3)
    with pytest.raises(TVMError, match="x must have 2 dimensions"):
        info(op.eye_like(var(3)))
    with pytest.raises(TVMError, match="window_size must be positive"):
        info(op.hamming_window(0, True, 0.5, 0.5, "float32"))
    with pytest.raises(TVMError, match="must be a float dtype"):
        info(op.hamming_window(3, True, 0.5, 0.5, "int32"))


def test_ranges_of_symbols() -> None:
    start, stop, step = (tir.Var(name, "int64") for name in ("start", "stop", "step"))
    for args, wanted in [
        ((stop,), stop),
        ((1, stop), stop - 1),
        ((start, stop, 2), (stop + 1 - start) // 2),
        ((start, stop, step), (stop + step - start - 1) // step),
        ((9, 3), 0),
    ]:
        [found] = info(op.arange(*args)).values
        assert structural_equal(found, tir.IntImm("int64", 0) if wanted == 0 else wanted), found


def test_what_fills_must_be_known_to_be_a_scalar() -> None:
    unknown = relax.Var("v", relax.TensorStructInfo(None, "float16"))
    for call in (lambda: op.full((2,), unknown), lambda: op.full_like(var(2), unknown)):
        with pytest.raises(TVMError, match="fill_value must be a scalar"):
            info(call())


def test_numbers_become_prim_values() -> None:
    assert relax.PrimValue(2.0).struct_info.dtype == "float32"
    assert relax.PrimValue(True).struct_info.dtype == "int64"
    assert relax.utils.convert_to_expr(2.0).struct_info.dtype == "float64"
    assert op.clip(var(2), 0.5, 1.5).args[1].struct_info.dtype == "float64"
    window = op.hamming_window(20, True, 0.54, 0.46, "float32")
    assert [str(a.struct_info.dtype) for a in window.args] == ["int64"] * 2 + ["float32"] * 2


def test_the_kernels_of_eye_like_and_windows_read_no_tensor() -> None:
    x = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))
    for call, blocks in (
        (op.eye_like(x, 1), ["eye"]),
        (
            op.hamming_window(6, True, 0.54, 0.46, "float32"),
            ["T_arange", "T_multiply", "T_divide", "compute", "T_multiply_1", "T_subtract",
             "T_strided_slice"],
        ),
        (op.hamming_window(6, False, 0.54, 0.46, "float32"),
            ["T_arange", "T_multiply", "T_divide", "compute", "T_multiply_1", "T_subtract"]),
    ):  # fmt: skip
        bb = relax.BlockBuilder()
        with bb.function("main", [x]):
            bb.emit_func_output(bb.emit(call))
        mod = relax.transform.LegalizeOps()(bb.finalize())
        (kernel,) = [f for f in mod.functions.values() if isinstance(f, tir.PrimFunc)]
        assert len(kernel.params) == 1
        nodes: list[object] = []
        tir.stmt_functor.post_order_visit(kernel.body, nodes.append)
        assert [s.name_hint for s in nodes if isinstance(s, tir.Block)][:-1] == blocks
