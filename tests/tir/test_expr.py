"""Expressions: literals at their limits, dtype rules, what constructors refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tvm
from tvm import te, tir
from tvm.error import InternalError, TVMError
from tvm.ir import PointerType, PrimType, Range
from tvm.tir.expr import as_expr, make_const

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        ("int8", -128, 127),
        ("uint8", 0, 255),
        ("int32", -(2**31), 2**31 - 1),
        ("uint32", 0, 2**32 - 1),
        ("int64", -(2**63), 2**63 - 1),
        ("uint64", 0, 2**64 - 1),
        ("bool", 0, 1),
        ("int4", -8, 7),
    ],
)
def test_integers_at_their_limits(dtype: str, low: int, high: int) -> None:
    assert tir.IntImm(dtype, low).value == low
    assert tir.IntImm(dtype, high).value == high
    for value in (low - 1, high + 1):
        with pytest.raises(ValueError, match=f"Literal value {value} exceeds m.*of {dtype}"):
            tir.IntImm(dtype, value)


def test_float_literals() -> None:
    assert tir.FloatImm("float32", 0.1).value == 0.1  # held as Python's float
    assert math.isinf(tir.FloatImm("float16", math.inf).value)
    with pytest.raises(ValueError, match=r"Literal value .* exceeds maximum of float16"):
        tir.FloatImm("float16", 65505)
    with pytest.raises(TypeError, match="FloatImm: the dtype is int32"):
        tir.FloatImm("int32", 1.0)
    with pytest.raises(TypeError, match="IntImm: the dtype is float32"):
        tir.IntImm("float32", 1)


def test_literals_as_python_numbers() -> None:
    three = tir.IntImm("int32", 3)
    assert int(three) == 3
    assert list(range(5))[three] == 3
    assert three == 3
    assert three != 4
    assert bool(three)
    assert not bool(tir.IntImm("int32", 0))
    assert float(tir.FloatImm("float32", 2.5)) == 2.5
    assert {tir.IntImm("int32", 3): "x"}[three] == "x"


def test_constructors_never_fold() -> None:
    assert isinstance(tir.Add(1, 2), tir.Add)


def test_operands_must_have_one_type() -> None:
    x, y = tir.Var("x", "int32"), tir.Var("y", "int64")
    with pytest.raises(TypeError, match=r"Add: mismatched types: int32 vs\. int64"):
        tir.Add(x, y)
    with pytest.raises(TypeError, match="And: the operands are int32 and bool"):
        tir.And(x, True)
    with pytest.raises(TypeError, match="Not: the operand is int32"):
        tir.Not(x)
    with pytest.raises(TypeError, match="Select: the condition is int32"):
        tir.Select(x, x, x)


def test_dtypes_of_results() -> None:
    x = tir.Var("x", "float32x4")
    assert tir.LT(x, x).dtype == "uint1x4"
    assert tir.Add(x, x).dtype == "float32x4"
    assert tir.Ramp(0, 1, 8).dtype == "int32x8"
    assert tir.Broadcast(1.0, 4).dtype == "float32x4"
    assert tir.Shuffle([x, x], [0, 5]).dtype == "float32x2"
    assert tir.Ramp(0, 1, tir.vscale() * 4).dtype == "int32xvscalex4"
    with pytest.raises(TypeError, match="Ramp: lanes > 1 is wanted, found 0"):
        tir.Ramp(0, 1, 0)
    with pytest.raises(TypeError, match="neither a literal nor a multiple of vscale"):
        tir.Broadcast(1.0, tir.Var("n", "int32"))
    with pytest.raises(TypeError, match="Cast: float32x4 to int32 changes the lanes"):
        tir.Cast("int32", x)


def test_loads_take_the_lanes_of_the_last_index() -> None:
    a = tir.decl_buffer((8, 16), "float32", "A")
    assert tir.BufferLoad(a, [0, tir.Ramp(0, 1, 4)]).dtype == "float32x4"
    with pytest.raises(tvm.TVMError, match="2-dimensional, cannot be indexed with the 1-dim"):
        tir.BufferLoad(a, [0])


def test_variables() -> None:
    pointer = tir.Var("p", PointerType(PrimType("float32"), "shared"))
    assert pointer.dtype == "handle"
    assert pointer.type_annotation.storage_scope == "shared"
    x = tir.Var("x", "int64")
    assert x.name_hint == x.name == "x"
    assert x.copy_with_suffix("_1").name == "x_1"
    assert isinstance(tir.SizeVar("n", "int32").copy_with_name("m"), tir.SizeVar)


def test_let_and_casts_check_types() -> None:
    x = tir.Var("x", "float32")
    with pytest.raises(TypeError, match="Let: variable x is float32, its value is int32"):
        tir.Let(x, 1, x)


def test_reduce_needs_reduction_axes() -> None:
    iv = tir.IterVar((0, 4), "k", tir.IterVar.DataPar)
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    reducer = tir.CommReducer([x], [y], [x + y], [tir.const(0, "int32")])
    with pytest.raises(tvm.TVMError, match="axis k is no reduction axis"):
        tir.Reduce(reducer, [iv.var], [iv], True, 0)
    for lhs, rhs, identity in (([x], [y], []), ([], [y], [0]), ([x], [x, y], [0])):
        with pytest.raises(ValueError, match="legal: as many of each"):
            tir.CommReducer(lhs, rhs, [x + y], identity)


def test_iter_vars_stand_for_their_variable() -> None:
    iv = tir.IterVar(Range(0, 4), "k", tir.IterVar.CommReduce)
    assert (iv + 1).a is iv.var
    with pytest.raises(TypeError, match="dom is a Range or a pair"):
        tir.IterVar(3, "k", 0)
    for var in (tir.Var("k", "int64"), tir.Var("k", "float32")):
        with pytest.raises(AssertionError, match="its domain's extent is int32"):
            tir.IterVar(Range(0, 4), var, 0)
    assert tir.IterVar(Range(0, tir.IntImm("int64", 4)), "k", 0).var.dtype == "int64"


def test_what_converts_to_expressions() -> None:
    assert as_expr(3).dtype == "int32"
    assert as_expr(2**40).dtype == "int64"
    assert as_expr(True).dtype == "bool"
    assert as_expr(1.5).dtype == "float32"
    assert as_expr("s").value == "s"
    assert as_expr(np.int64(3)).dtype == "int32"
    assert as_expr(np.int64(2**40)).dtype == "int64"
    assert as_expr(np.float64(3)).dtype == "float32"
    with pytest.raises(TypeError, match="cannot convert a dict to an expression"):
        as_expr({})


def test_make_const() -> None:
    vector = make_const(1, tvm.DataType("float32x4"))
    assert isinstance(vector, tir.Broadcast)
    assert make_const(0, tvm.DataType("handle")).dtype == "handle"


def test_calls_name_operators_that_exist() -> None:
    with pytest.raises(tvm.TVMError, match=r"tir\.ex is not registered: .*did you mean"):
        tir.Call("float32", "tir.ex", [1.0])


def test_lists_are_converted_element_by_element() -> None:
    one, (two, (three,)) = tir.convert([1, (2.0, [True])])
    assert [v.dtype for v in (one, two, three)] == ["int32", "float32", "bool"]


def test_indices_are_integers_and_vectors_come_last() -> None:
    a = tir.decl_buffer((4, 4), "float32", "A")
    with pytest.raises(tvm.TVMError, match=r"by T.float32\(0.0\), which is float32; legal: int"):
        tir.BufferLoad(a, [tir.const(0.0), 0])
    with pytest.raises(tvm.TVMError, match="legal: a vector as the last index only"):
        tir.BufferLoad(a, [tir.Ramp(0, 1, 4), 0])
    assert tir.BufferLoad(a, [0, tir.Ramp(0, 1, 4)]).dtype == "float32x4"


def test_truth_values_of_one_bit() -> None:
    assert [tir.IntImm("int1", v).value for v in (0, 1)] == [0, 1]
    assert tir.const(1, "uint1").dtype == "bool"
    for dtype, value in (("int1", -1), ("int1", 2), ("uint1", 2)):
        with pytest.raises(TVMError, match="exceeds m"):
            tir.IntImm(dtype, value)


def test_a_float_beyond_float32_is_float64() -> None:
    assert [tir.const(v).dtype for v in (3.4e38, -3.5e38, float("inf"))] == [
        "float32", "float64", "float64",
    ]  # fmt: skip


def test_wrong_parts_of_te_expressions() -> None:
    with pytest.raises(TVMError, match="value_index 1 of 1 values"):
        tir.Reduce(None, [1], [], True, 1)
    with pytest.raises(TypeError, match="the producer is a Var"):
        tir.ProducerLoad(tir.Var("a", "int32"), [0])


def test_a_cast_keeps_scalable_lanes() -> None:
    vector = tir.Var("v", "float32xvscalex4")
    assert tir.Cast("int8xvscalex4", vector).dtype == "int8xvscalex4"
    for dtype in ("int32x4", "int32xvscalex8", "int32"):
        with pytest.raises(TVMError, match="changes the lanes"):
            tir.Cast(dtype, vector)


def test_lanes_are_int32() -> None:
    assert tir.Ramp(0, 1, tir.IntImm("int64", 6)).lanes.dtype == "int32"
    assert tir.Broadcast(0, tir.IntImm("int64", 6)).lanes.dtype == "int32"


def test_vectors_of_bool() -> None:
    f = tir.Var("f", "float32")
    assert tir.isnan(tir.Broadcast(f, 3)).dtype == "uint1x3"
    assert tir.Broadcast(tir.const(True), 3).dtype == "uint1x3"
    assert (tir.Broadcast(f, 3) < tir.Broadcast(f, 3)).dtype == "uint1x3"
    assert tir.const(True).dtype == "bool"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint16", "bool"])
def test_constants_of_numpy_keep_their_type(dtype: str) -> None:
    assert tir.const(np.dtype(dtype).type(1)).dtype == dtype
    assert tir.const(np.array(1, dtype)).dtype == dtype
    assert tir.const(1.5).dtype == "float32"


def test_numbers_of_numpy_are_numbers_as_those_of_python() -> None:
    x, half = tir.Var("x", "int32"), tir.Var("h", "float16")
    assert (x + np.int64(3)).dtype == "int32"
    assert tir.max(np.uint8(3), x).dtype == "int32"
    assert tir.Add(x, np.int8(3)).b.dtype == "int32"
    assert (half * np.float64(0.5)).dtype == "float32"  # as half * 0.5
    assert tir.decl_buffer((np.prod([2, 3]), 4)).shape[0].dtype == "int32"
    func = tir.PrimFunc([x], tir.Evaluate(x)).with_attr("sizes", [np.int64(2), np.float32(1.5)])
    assert [type(size) for size in func.attrs["sizes"]] == [int, float]


def test_one_unknown_number_of_lanes_equals_itself() -> None:
    assert bool(tir.vscale().equal(tir.vscale()))
    x = tir.Var("x", "int32")
    assert isinstance(x.equal(x), tir.EQ)
    assert isinstance((tir.vscale() * 4).equal(tir.vscale() * 4), tir.EQ)


def test_least_and_largest_of_many() -> None:
    a, b, c = (tir.Var(name, "int32") for name in "abc")
    assert tir.max(4, 9, 2, 7, 1).value == 9
    assert tir.min(4, 9, 2, 7, 1).value == 1
    assert str(tir.max(a, b, c)) == "T.max(T.max(a, b), c)"
    axis = te.reduce_axis((0, 4))
    assert isinstance(tir.max(axis.var, axis=axis), tir.Reduce)
    assert isinstance(tir.min(axis.var, axis, where=axis.var > 1), tir.Reduce)


def test_truncated_remainders_have_one_word() -> None:
    seven, four = tir.IntImm("int64", 7), tir.IntImm("int64", 4)
    assert str(tir.Mod(seven, four)) == "T.truncmod(T.int64(7), T.int64(4))"
    vector = tir.Broadcast(tir.Var("x", "int32"), 4)
    assert str(tir.Mod(vector, vector)).startswith("T.truncmod(")


def mask(lanes: object, value: object = True) -> tir.Broadcast:
    return tir.Broadcast(tir.const(value) if isinstance(value, bool) else value, lanes)


@pytest.mark.parametrize(
    ("predicate", "load", "store"),
    [
        (
            mask(tir.vscale() * 4),
            "Predicate mask dtype and load indices must both be scalable",
            "Predicate mask dtype and value dtype must both be scalable",
        ),
        (
            mask(4),
            "mask with 4 lanes, but trying to load a vector with 8 lanes. The number of lanes",
            "mask with 4 lanes, but trying to store a value with 8 lanes. The number of lanes",
        ),
        (mask(8, tir.IntImm("int8", 1)), *["elements must be boolean values, but got int8"] * 2),
    ],
)
def test_masks_of_vectors_are_checked(predicate: tir.PrimExpr, load: str, store: str) -> None:
    buffer = tir.decl_buffer((64,), "int8")
    ramp = tir.Ramp(0, 1, 8)
    with pytest.raises(InternalError, match=load):
        tir.BufferLoad(buffer, [ramp], predicate)
    with pytest.raises(InternalError, match=store):
        tir.BufferStore(buffer, tir.Broadcast(tir.IntImm("int8", 1), 8), [ramp], predicate)
    assert tir.BufferLoad(buffer, [ramp], mask(8)).predicate is not None
