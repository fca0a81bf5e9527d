"""Calls of tensor expressions: placeholders, fresh symbols, extra symbols, results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import relax, te, tir, topi
from tvm.error import TVMError
from tvm.ir import VDevice, assert_structural_equal
from tvm.relax import interp
from tvm.relax.utils import gen_call_tir_inputs
from tvm.tir.analysis import undefined_vars

pytestmark = pytest.mark.pure

N, M = tir.Var("n", "int64"), tir.Var("m", "int64")


def var(name: str, *shape: object) -> relax.Var:
    return relax.Var(name, relax.TensorStructInfo(shape, "float32"))


def double(a: te.Tensor) -> te.Tensor:
    return te.compute(a.shape, lambda *i: a(*i) * 2.0, name="double")


def test_tensors_become_placeholders() -> None:
    x, y = var("x", N, 4), var("y", N, 4)
    made = gen_call_tir_inputs(
        lambda a, b: te.compute(a.shape, lambda i, j: a[i, j] + b[i, j]), x, y
    )
    assert made.args.fields == (x, y)
    assert made.out_sinfo.values[0] is N
    assert made.tir_vars is None
    assert len(made.func.params) == 3
    assert "global_symbol" not in made.func.attrs
    own = [b.shape[0] for b in made.func.buffer_map.values()]
    assert all(isinstance(s, tir.Var) and s is not N for s in own)


def test_buffers_are_named_for_the_variables() -> None:
    x, one = var("x", 4), relax.const(np.ones(4, "float32"))
    made = gen_call_tir_inputs(topi.add, x, one)
    buffers = [made.func.buffer_map[param].name for param in made.func.params]
    assert buffers == ["x", "B", "T_add"]


def test_symbols_that_no_shape_defines_are_passed() -> None:
    x = var("x", N)
    made = gen_call_tir_inputs(
        lambda a, size: te.compute((size,), lambda i: a[i % a.shape[0]]), x, M * 2
    )
    assert [v.name for v in made.tir_vars.values] == ["m"]
    assert made.tir_vars.values[0] is M
    assert len(made.func.params) == 3


def test_symbols_that_the_function_captures_are_passed() -> None:
    x = var("x", N)
    made = gen_call_tir_inputs(
        lambda a: te.compute(a.shape, lambda i: a[tir.min(i + M, N - 1)]), x
    )
    assert list(made.tir_vars.values) == [M, N]
    assert not undefined_vars(made.func)


def test_shapes_numbers_strings_and_lists() -> None:
    seen: dict[str, Any] = {}

    def compute(*args: Any, **options: Any) -> te.Tensor:
        seen["args"], seen["options"] = args, options
        return double(args[0][0])

    x = var("x", N)
    gen_call_tir_inputs(
        compute, [x], relax.ShapeExpr([1, 2]), relax.PrimValue(3), relax.StringImm("s"), None,
        flag={"a": True},
    )  # fmt: skip
    tensors, shape, number, text, none = seen["args"]
    assert isinstance(tensors[0], te.Tensor)
    assert [int(v) for v in shape] == [1, 2]
    assert int(number) == 3
    assert text == "s"
    assert none is None
    assert seen["options"] == {"flag": {"a": True}}


def test_numbers_known_at_run_time_only_become_parameters() -> None:
    k = relax.Var("k", relax.PrimStructInfo("int64"))
    x = var("x", 4)
    bb = relax.BlockBuilder()
    with bb.function("main", [x, k]):
        out = bb.emit_te(
            lambda a, s: te.compute(a.shape, lambda i: a[i] + s.astype("float32")), x, k
        )
        bb.emit_func_output(out)
    found = interp.run(bb.get(), np.zeros(4, "float32"), 3)
    np.testing.assert_array_equal(found, np.full(4, 3, "float32"))


def test_emit_te_names_function_and_variable() -> None:
    x = var("x", N)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        a = bb.emit_te(double, x, name_hint="a")
        b = bb.emit_te(double, a, primfunc_name_hint="again", primfunc_attrs={"op_pattern": 8})
        c = bb.emit_te(double, b)
        bb.emit_func_output(c)
    mod = bb.get()
    assert a.name_hint == "a"
    assert sorted(v.name_hint for v in mod.functions) == ["again", "double", "main"]
    assert mod["again"].attrs["op_pattern"] == 8
    calls = [bind.value.args[0].name_hint for bind in mod["main"].body.blocks[0].bindings]
    assert calls == ["double", "again", "double"]
    found = interp.run(mod, np.ones(3, "float32"))
    np.testing.assert_array_equal(found, np.full(3, 8, "float32"))


def test_several_results() -> None:
    x = var("x", 4)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        pair = bb.emit_te(lambda a: [double(a), double(double(a))], x)
        bb.emit_func_output(pair)
    first, second = interp.run(bb.get(), np.ones(4, "float32"))
    assert (first[0], second[0]) == (2, 4)


def test_gradient_by_name() -> None:
    x = var("x", 4)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        call = bb.call_te_with_grad(double, x, te_grad_name="f_grad", te_grad_kwargs={"k": 1})
        bb.emit_func_output(bb.emit(call))
    assert call.op.name == "relax.call_tir_with_grad"
    assert call.attrs.te_grad_name == "f_grad"


def test_refusals() -> None:
    bb = relax.BlockBuilder()
    unknown = relax.Var("x", relax.TensorStructInfo(None, "float32", ndim=2))
    with pytest.raises(TVMError, match="must be known as expressions"):
        bb.call_te(double, unknown)
    with pytest.raises(TypeError, match=r"only support te\.tensor or tuple/list of te\.tensor"):
        bb.call_te(lambda a: 3, var("x", 4))
    with pytest.raises(TypeError, match="not supported type in emit_te: object"):
        bb.call_te(double, object())


def test_a_shape_must_be_spelled_out():
    x = relax.Var("x", relax.TensorStructInfo((200,), "float32"))
    shape = relax.Var("s", relax.ShapeStructInfo((200,)))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, shape]):
        with pytest.raises(AssertionError, match="takes a shape only as a ShapeExpr; found s"):
            bb.call_te(topi.reshape, x, shape)
        bb.emit_func_output(bb.emit_te(topi.reshape, x, relax.ShapeExpr([10, 20])))
    assert_structural_equal(
        bb.get()["main"].ret_struct_info, relax.TensorStructInfo((10, 20), "float32")
    )


def test_an_operand_that_is_given_back_is_copied() -> None:
    x = var("x", 4)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        pair = bb.emit_te(lambda a: [a, double(a)], x)
        bb.emit_func_output(pair)
    data = np.arange(4, dtype="float32")
    same, twice = interp.run(bb.get(), data)
    np.testing.assert_array_equal(same, data)
    np.testing.assert_array_equal(twice, data * 2)


def test_a_result_that_is_given_twice_is_written_twice() -> None:
    x = var("x", 4)
    bb = relax.BlockBuilder()

    def both(a: te.Tensor) -> list[te.Tensor]:
        result = double(a)
        return [result, result]

    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit_te(both, x))
    data = np.arange(4, dtype="float32")
    for found in interp.run(bb.get(), data):
        np.testing.assert_array_equal(found, data * 2)


def test_results_are_on_the_device_of_their_operands() -> None:
    """Of the first operand that is on one; each of several results."""
    device = VDevice("llvm", 0)
    placed = relax.Var("x", relax.TensorStructInfo((N, 4), "float32", device))
    made = gen_call_tir_inputs(topi.add, var("y", N, 4), placed)
    assert_structural_equal(made.out_sinfo, relax.TensorStructInfo((N, 4), "float32", device))
    made = gen_call_tir_inputs(lambda a: topi.split(a, 2, 1), placed)
    assert [info.vdevice for info in made.out_sinfo] == [device, device]
    assert gen_call_tir_inputs(double, var("y", N, 4)).out_sinfo.vdevice is None


def test_what_computes_is_a_function() -> None:
    with pytest.raises(TypeError, match="legal: a function of te tensors"):
        relax.BlockBuilder().call_te(3)


def test_an_extent_that_sizes_tell_is_a_number() -> None:
    """The first of `a // 4 * (b // 4) + 1` rows, where a fused kernel has neither a nor b alone."""
    a, b = tir.SizeVar("a", "int64"), tir.SizeVar("b", "int64")
    rows = a // 4 * (b // 4) + 1
    x = relax.Var("x", relax.TensorStructInfo([rows, 8], "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, relax.Var("sizes", relax.ShapeStructInfo([a, b]))]):
        first = bb.emit_te(topi.strided_slice, x, [0], [1], [1], [0])
        bb.emit_func_output(first)
    extent = first.struct_info.shape.values[0]
    assert isinstance(extent, tir.IntImm)
    assert extent.value == 1


def test_a_choice_that_sizes_decide() -> None:
    """The first a of a + b rows, which no `max(a, 0)` need say."""
    a, b = tir.SizeVar("a", "int64"), tir.SizeVar("b", "int64")
    x = relax.Var("x", relax.TensorStructInfo([a + b, 8], "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, relax.Var("sizes", relax.ShapeStructInfo([a, b]))]):
        first = bb.emit_te(topi.strided_slice, x, [0], [a], [1], [0])
        bb.emit_func_output(first)
    assert first.struct_info.shape.values[0].same_as(a)
