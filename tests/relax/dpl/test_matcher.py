"""Patterns compared with single expressions."""

from __future__ import annotations

import numpy as np
import pytest

from tvm import relax as rx
from tvm import tir
from tvm.relax.analysis import get_var2val
from tvm.relax.dpl import (
    ExternFuncPattern,
    FunctionPattern,
    has_attr,
    has_dtype,
    is_call_dps_packed,
    is_call_packed,
    is_call_tir,
    is_const,
    is_dfv,
    is_expr,
    is_gv,
    is_op,
    is_shape,
    is_tuple,
    is_tuple_get_item,
    is_var,
    wildcard,
)
from tvm.relax.dpl.matcher import same_attribute
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


@I.ir_module
class Module:
    @T.prim_func
    def tir_matmul(x: T.handle, y: T.handle, z: T.handle):
        T.func_attr({"global_symbol": "tir_matmul"})
        A = T.match_buffer(x, (32, 32))
        B = T.match_buffer(y, (32, 32))
        C = T.match_buffer(z, (32, 32))
        for i, j, k in T.grid(32, 32, 32):
            with T.block("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    @T.prim_func
    def tir_relu(x: T.handle, y: T.handle):
        T.func_attr({"global_symbol": "tir_relu"})
        A = T.match_buffer(x, (32, 32))
        B = T.match_buffer(y, (32, 32))
        for i, j in T.grid(32, 32):
            with T.block("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.max(A[vi, vj], T.float32(0))

    @R.function
    def main(x: R.Tensor((32, 32), "float32"), w: R.Tensor((32, 32), "float32")) -> R.Tuple:
        cls = Module
        with R.dataflow():
            lv0 = R.call_tir(cls.tir_matmul, (x, w), R.Tensor((32, 32), dtype="float32"))
            lv1 = R.call_tir(cls.tir_relu, (lv0), R.Tensor((32, 32), dtype="float32"))
            R.output(lv1)
        return (lv1, lv1)


MAIN = Module["main"]
BINDINGS = MAIN.body.blocks[0].bindings


def _tensor(name: str = "x", *shape: int | tir.Var | tir.PrimExpr) -> rx.Var:
    return rx.Var(name, R.Tensor(list(shape), "float32"))


def test_variables() -> None:
    assert is_var("x").match(rx.Var("x"))
    assert is_var().match(rx.DataflowVar("y"))
    assert not is_var("x").match(rx.Var("y"))
    assert not is_var("x").match(rx.GlobalVar("x"))
    assert is_dfv("x").match(rx.DataflowVar("x"))
    assert not is_dfv().match(rx.Var("x"))
    assert is_gv("x").match(rx.GlobalVar("x"))
    assert is_gv().match(rx.GlobalVar("y"))
    assert not is_gv("x").match(rx.Var("x"))
    assert not is_gv("x").match(rx.GlobalVar("y"))


def test_constants_expressions_and_functions_by_name() -> None:
    assert is_const().match(rx.const(np.ones(3, "float32")))
    assert not is_const().match(rx.Var("x"))
    x = _tensor("x", 2)
    assert is_expr(x).match(x)
    assert not is_expr(x).match(_tensor("x", 2))
    assert is_expr(rx.op.add(x, x)).match(rx.op.add(x, x))
    assert is_expr(rx.const(1.0)).match(rx.const(1.0))
    assert ExternFuncPattern("f").match(rx.ExternFunc("f"))
    assert not ExternFuncPattern("f").match(rx.ExternFunc("g"))


def test_calls() -> None:
    a, b = wildcard(), wildcard()
    call = is_op("relax.add")(a, b)
    assert call.match(rx.op.add(_tensor("x"), _tensor("y")))
    assert not call.match(rx.op.multiply(_tensor("x"), _tensor("y")))
    same = is_op("relax.add")(a, a)
    x, y = _tensor("x"), _tensor("y")
    assert same.match(rx.op.add(x, x))
    assert not same.match(rx.op.add(x, y))
    assert (a + b).match(rx.op.add(x, y))
    assert (a / b).match(rx.op.divide(x, y))
    assert (a - b).match(rx.op.subtract(x, y))
    assert (a * b).match(rx.op.multiply(x, y))


def test_functions() -> None:
    a, b = wildcard(), wildcard()
    pattern = FunctionPattern([a, b], is_op("relax.add")(a, b))
    x, y = rx.Var("x", R.Tensor("float32")), rx.Var("y", R.Tensor("float32"))
    result = R.Tensor("float32")
    func = rx.Function([x, y], rx.op.add(x, y), ret_struct_info=result)
    assert pattern.match(func)
    assert not pattern.match(rx.Function([x, y], rx.op.multiply(x, y), ret_struct_info=result))
    normal = rx.BlockBuilder().normalize(func)
    assert pattern.match(normal)
    marked = func.with_attr({"Codegen": "test-codegen", "global_symbol": "test-symbol"})
    assert pattern.has_attr({"Codegen": "test-codegen", "global_symbol": "test-symbol"}).match(
        marked
    )
    assert pattern.has_attr({}).match(marked)
    assert not pattern.has_attr({"ping": "pong"}).match(marked)


def test_tuples() -> None:
    pattern = is_tuple([is_gv("x"), is_dfv("y")])
    value = rx.Tuple([rx.GlobalVar("x"), rx.DataflowVar("y")])
    assert pattern.match(value)
    assert not pattern.match(rx.Tuple([rx.DataflowVar("y"), rx.GlobalVar("x")]))
    assert not pattern.match(rx.Tuple([]))
    first, second = rx.TupleGetItem(value, 0), rx.TupleGetItem(value, 1)
    assert pattern[0].match(first)
    assert not pattern[0].match(second)
    assert pattern[-1].match(second)
    assert pattern[None].match(first)
    assert pattern[None].match(second)
    assert is_tuple_get_item(pattern, 0).match(first)
    with pytest.raises(IndexError):
        pattern[2]


def test_unordered_tuples() -> None:
    pattern = is_tuple([is_const(), is_dfv()], unordered=True)
    assert pattern.match(rx.Tuple([rx.const([1]), rx.DataflowVar("x")]))
    assert pattern.match(rx.Tuple([rx.DataflowVar("x"), rx.const([1])]))
    assert not pattern.match(rx.Tuple([rx.DataflowVar("x"), rx.DataflowVar("y")]))
    assert not pattern.match(rx.Tuple([]))


def test_or_and_not() -> None:
    either = is_dfv("x") | is_gv("x")
    assert either.match(rx.DataflowVar("x"))
    assert either.match(rx.GlobalVar("x"))
    assert not either.match(rx.Var("x"))
    both = wildcard().has_shape((2, 3, 3)) & has_dtype("float32")
    assert both.match(_tensor("x", 2, 3, 3))
    assert not both.match(_tensor("x", 3, 3, 3))
    assert not both.match(rx.Var("x", R.Tensor("float32", ndim=3)))
    no = ~wildcard().has_shape((2, 3, 3))
    assert no.match(_tensor("x", 3, 3, 3))
    assert not no.match(_tensor("x", 2, 3, 3))


def test_a_failed_alternative_leaves_no_trace() -> None:
    x = wildcard()
    relu, exp = is_op("relax.nn.relu")(x), is_op("relax.exp")(x)
    pattern = is_op("relax.add")(is_op("relax.tanh")(relu) | is_op("relax.tanh")(exp), x)
    a = _tensor("a", 2)
    assert pattern.match(rx.op.add(rx.op.tanh(rx.op.exp(a)), a))
    assert not pattern.match(rx.op.add(rx.op.tanh(rx.op.exp(a)), _tensor("b", 2)))


def test_shapes_dtypes_and_struct_info() -> None:
    n, m = tir.Var("n", "int64"), tir.Var("m", "int64")
    x = _tensor("x", n, m, n + m)
    assert wildcard().has_shape([n, m, n + m]).match(x)
    assert wildcard().has_shape([n, m, m + n]).match(x)
    assert not wildcard().has_shape([1, 2, 3]).match(x)
    assert not wildcard().has_shape([m, n, n + m]).match(x)
    assert is_shape([n, m, m + n]).match(rx.ShapeExpr([n, m, n + m]))
    assert is_shape([32, 32]).match(rx.get_shape_of(BINDINGS[0].var))
    assert has_dtype("float32").match(x)
    assert not has_dtype("float16").match(x)
    info = R.Tensor([n, m, n + m], "float32")
    assert wildcard().has_struct_info(info).match(x)
    assert wildcard().has_struct_info(R.Tensor("float32", ndim=3)).match(x)
    assert not wildcard().has_struct_info(R.Tensor("float32", ndim=2)).match(x)
    assert not wildcard().has_struct_info(R.Shape(ndim=3)).match(x)


def test_attributes_of_calls() -> None:
    x = rx.Var("x", R.Tensor([2, 3, 8, 8], "float32"))
    w = rx.Var("w", R.Tensor([4, 3, 3, 3], "float32"))
    call = rx.op.nn.conv2d(x, w, strides=(2, 2))
    pattern = is_op("relax.nn.conv2d")(is_var("x"), is_var("w"))
    assert pattern.has_attr({"strides": [2, 2]}).match(call)
    assert pattern.has_attr({"strides": [2, 2], "data_layout": "NCHW"}).match(call)
    assert not pattern.has_attr({"strides": [1, 2]}).match(call)
    assert not pattern.has_attr({"unheard_of": 1}).match(call)
    assert has_attr({"strides": (2, 2)}).match(call)
    assert same_attribute([1, 2], (1, tir.IntImm("int64", 2)))
    assert not same_attribute("1", 1)
    assert same_attribute("a", "a")
    assert not same_attribute([1], [1, 2])


def test_attributes_that_are_none() -> None:
    x = rx.Var("x", R.Tensor([2, 3], "float32"))
    pattern = is_op("relax.permute_dims")(wildcard()).has_attr({"axes": None})
    assert pattern.match(rx.op.permute_dims(x))
    assert not pattern.match(rx.op.permute_dims(x, [1, 0]))
    assert not is_op("relax.exp")(wildcard()).has_attr({"axes": None}).match(rx.op.exp(x))


def test_kernels_and_packed_functions() -> None:
    values = get_var2val(MAIN)
    first, second = BINDINGS[0].value, BINDINGS[1].value
    assert is_call_tir("tir_relu").match(second)
    assert not is_call_tir("tir_relu").match(first)
    relu_of_matmul = is_call_tir("tir_relu", [is_call_tir("tir_matmul")])
    assert relu_of_matmul.match(second, var2val=values)
    assert not relu_of_matmul.match(second)
    assert not is_call_tir("tir_relu", [is_call_tir("tir_relu")]).match(second, var2val=values)
    assert is_call_tir("tir_matmul", [wildcard(), wildcard()]).match(first)
    assert is_call_tir("tir_matmul", [is_var("x"), wildcard()]).match(first, var2val=values)
    packed = rx.Call(rx.ExternFunc("my_mul"), [_tensor("x", 2), _tensor("w", 2)])
    assert is_call_packed("my_mul", [is_var("x"), is_var("w")]).match(packed)
    assert is_call_packed("my_mul").match(packed)
    assert not is_call_packed("my_mul", [wildcard()]).match(packed)
    dps = rx.op.call_dps_packed("my_mul", (_tensor("x", 2),), R.Tensor([2], "float32"))
    assert is_call_dps_packed("my_mul", [is_var("x")]).match(dps)
    assert not is_call_dps_packed("other").match(dps)


def test_extracts_what_the_parts_match() -> None:
    values = get_var2val(MAIN)
    x = wildcard()
    inner = is_call_tir("tir_matmul", [x, wildcard()])
    pattern = is_call_tir("tir_relu", [inner])
    found = pattern.extract_matched_expr(BINDINGS[1].value, values)
    assert found is not None
    assert found[inner] is BINDINGS[0].value
    assert found[x] is MAIN.params[0]
    assert found[pattern] is BINDINGS[1].value
    assert pattern.extract_matched_expr(BINDINGS[0].value, values) is None


def test_sums_and_products_match_in_either_order() -> None:
    y = rx.Var("y", rx.TensorStructInfo((4,), "float32"))
    c = rx.const(np.ones(4, "float32"))
    for name, works in (("add", True), ("multiply", True), ("subtract", False)):
        call = getattr(rx.op, name)(c, y)
        assert is_op(f"relax.{name}")(wildcard(), is_const()).match(call) is works
        assert is_op(f"relax.{name}")(is_const(), wildcard()).match(call)
    either = is_op("relax.add") | is_op("relax.multiply")
    assert either(wildcard(), is_const()).match(rx.op.multiply(c, y))
    nested = is_op("relax.add")(is_op("relax.multiply")(wildcard(), is_const()), is_const())
    assert nested.match(rx.op.add(c, rx.op.multiply(c, y)))


def test_symbols_of_a_pattern_stand_for_any_extent() -> None:
    def tensor(*shape: object) -> rx.Var:
        return rx.Var("t", rx.TensorStructInfo(shape, "float32"))

    u, v, n = (tir.Var(name, "int64") for name in "uvn")
    assert wildcard().has_struct_info(rx.TensorStructInfo([u], "float32")).match(tensor(6))
    sides = [wildcard().has_struct_info(rx.TensorStructInfo([u, v], "float32")) for _ in "ab"]
    product = is_op("relax.multiply")(*sides)
    assert product.match(rx.op.multiply(tensor(3, 4), tensor(3, 4)))
    assert product.match(rx.op.multiply(tensor(n, 4), tensor(n, 4)))
    assert not product.match(rx.op.multiply(tensor(3, 4), tensor(3, 1)))


def test_variables_of_known_value_are_their_values() -> None:
    x = rx.Var("x", rx.TensorStructInfo((2,), "float32"))
    bound, alias = (rx.DataflowVar(name, x.struct_info) for name in ("bound", "alias"))
    values = {bound: rx.op.exp(x), alias: x}
    assert is_dfv("bound").match(bound)
    assert not is_dfv("bound").match(bound, values)
    assert is_op("relax.exp")(is_var("x")).match(bound, values)
    assert is_var("x").match(alias, values)
