"""Operators: matching of types, folding, identities, and what is refused."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tvm
from tvm import tir
from tvm.tir.op import arith

pytestmark = pytest.mark.pure
X, Y = tir.Var("x", "int32"), tir.Var("y", "int32")
F = tir.Var("f", "float32")


@pytest.mark.parametrize(
    ("a", "b", "dtype"),
    [
        ("int32", "int64", "int64"),
        ("int8", "uint8", "uint8"),
        ("uint16", "int8", "uint16"),
        ("int32", "float16", "float16"),
        ("float32", "float64", "float64"),
        ("bool", "int32", "int32"),
        ("float32x4", "float32", "float32x4"),
        ("int32", "float32x4", "float32x4"),
        ("bfloat16", "float32", "float32"),
    ],
)
def test_types_are_matched(a: str, b: str, dtype: str) -> None:
    total = tir.Var("a", a) + tir.Var("b", b)
    assert total.dtype == dtype


@pytest.mark.parametrize(
    ("a", "b"), [("float8_e4m3fn", "float8_e5m2"), ("int32x4", "int32x8"), ("handle", "int32")]
)
def test_types_that_do_not_match(a: str, b: str) -> None:
    with pytest.raises(TypeError, match="Cannot match type"):
        tir.Var("a", a) + tir.Var("b", b)


def test_literals_fold_in_their_type() -> None:
    assert (tir.const(250, "uint8") + tir.const(10, "uint8")).value == 4
    assert (tir.const(2**31 - 1) + 1).value == -(2**31)
    assert (tir.const(-7) // 2).value == -4
    assert (tir.const(-7) % 3).value == 2
    assert tir.truncdiv(tir.const(-7), 2).value == -3
    assert tir.truncmod(tir.const(-7), 3).value == -1
    assert (tir.const(0.1, "float32") + tir.const(0.2, "float32")).value == float(
        np.float32(np.float32(0.1) + np.float32(0.2))
    )
    assert (tir.const(3) < 4).value == 1
    assert (tir.const(6) & 3).value == 2
    assert str(~tir.const(5)) == "T.bitwise_not(5)"
    assert (-tir.const(5)).value == -5
    assert (tir.const(1) << 4).value == 16


def test_identities() -> None:
    assert X + 0 is X
    assert 0 + X is X
    assert X * 1 is X
    assert (X * 0).value == 0
    assert X - 0 is X
    assert X // 1 is X
    assert (X % 1).value == 0
    assert tir.min(X, X) is X
    assert F * 1.0 is F
    for same in (F + 0.0, tir.const(0.0, "float32") + F, F - 0.0):
        assert same.same_as(F)
    # not exact: nan * 0 is nan
    assert isinstance(F * 0.0, tir.Mul)


def test_logic() -> None:
    a, b = X < 3, Y < 4
    true, false = tir.const(True, "bool"), tir.const(False, "bool")
    assert tir.all(a, true) is a
    assert tir.all(false, a) is false
    assert tir.any(a, true) is true
    assert tir.any(false, b) is b
    assert isinstance(tir.all(a, b, a), tir.And)
    assert isinstance(arith.logical_not(a), tir.Not)
    with pytest.raises(TypeError, match="logical operation on int32 and bool"):
        tir.all(X, a)
    with pytest.raises(ValueError, match="at least 1 argument"):
        tir.all()


def test_division_says_which_it_is() -> None:
    assert tir.expr.div_ambiguity_error is tir.op.div_ambiguity_error
    with pytest.raises(RuntimeError, match="multiple types of integer divisions"):
        X / Y
    assert isinstance(F / 2.0, tir.Div)
    assert isinstance(X // Y, tir.FloorDiv)
    assert isinstance(X % Y, tir.FloorMod)
    with pytest.raises(tvm.TVMError, match="Divide by zero: the divisor of floordiv"):
        X // 0
    assert isinstance(F // F, tir.Call)


def test_ceildiv_is_written_out() -> None:
    n = tir.Var("n", "int32")
    assert str(tir.ceildiv(n, 4)) == "(n + 4 - 1) // 4"
    assert str(tir.ceildiv(n, tir.Var("m", "int32"))) == "(n + m - 1) // m"


def test_ceildiv_is_exact() -> None:
    rng = random.Random(0)
    for _ in range(200):
        a, b = rng.randint(-50, 50), rng.choice([1, 2, 3, 7])
        assert tir.ceildiv(tir.const(a), b).value == -(-a // b)


def test_shifts_are_checked() -> None:
    with pytest.raises(TypeError, match="Shift amount must be non-negative and less than 32"):
        X << 32
    with pytest.raises(TypeError, match="bitwise_and: the operands are float32"):
        F & 1.0
    assert X >> 0 is X


def test_casts() -> None:
    assert X.astype("int32") is X
    assert tir.const(3).astype("float32").value == 3.0
    assert isinstance(X.astype("float32"), tir.Cast)
    vector = X.astype("int32x4")
    assert isinstance(vector, tir.Broadcast)
    assert isinstance(vector.astype("float32x4"), tir.Broadcast)


def test_const_from_python_values() -> None:
    assert tvm.const(1).dtype == "int32"
    assert tvm.const(1.0).dtype == "float32"
    assert tvm.const(True).dtype == "bool"
    assert tvm.const(2**40).dtype == "int64"
    assert tvm.const(1, "float16").dtype == "float16"
    assert tvm.const(np.float16(2.5)).dtype == "float16"


def test_calls_of_functions_by_global_variable() -> None:
    call = tvm.ir.GlobalVar("f")(X, 1)
    assert isinstance(call, tir.Call)
    assert call.dtype == "void"


def test_bits_are_worked_on_in_the_type_of_the_expression() -> None:
    x = tir.Var("x", "int8x2")
    assert (x & 15).dtype == "int8x2"
    assert (tir.const(1, "int8x2") >> 1).dtype == "int8x2"
    assert (3 ^ x).dtype == "int8x2"
    assert (tir.Var("y", "uint64") | 1).dtype == "uint64"
    assert (tir.Var("i", "int32") >> tir.const(1, "int32x2")).dtype == "int32x2"


def test_addresses_are_not_cast() -> None:
    with pytest.raises(tvm.TVMError, match="Can't cast a handle to other types"):
        tir.StringImm("s").astype("int32")


@pytest.mark.parametrize("value", [None, "3", [3]])
def test_a_literal_is_made_of_a_number(value) -> None:
    with pytest.raises(TypeError, match=r"tir\.const: the value is a "):
        tir.const(value, "int32")


def test_unsigned_quotients_are_not_ambiguous():
    i, u, b = tir.Var("i", "int32"), tir.Var("u", "uint8"), tir.Var("b", "bool")
    for x, y, dtype in ((u, u, "uint8"), (i, u, "int32"), (b, i, "int32")):
        quotient = x / y
        assert isinstance(quotient, tir.Div)
        assert quotient.dtype == dtype
    with pytest.raises(RuntimeError, match="ambiguity"):
        i / i


def test_ramps_are_cast_by_their_parts():
    ramp = tir.Ramp(tir.Var("i", "int32"), 1, 4)
    assert str(ramp.astype("int64x4")) == 'T.Ramp(T.Cast("int64", i), T.int64(1), 4)'
    assert str(ramp.astype("float32x4")) == 'T.Cast("float32x4", T.Ramp(i, 1, 4))'
    assert str(tir.min(ramp, tir.Broadcast(2, 4))) == "T.min(T.Ramp(i, 1, 4), T.Broadcast(2, 4))"


def test_a_number_beside_bits_has_their_type() -> None:
    flag, small = tir.Var("flag", "bool"), tir.Var("small", "int8")
    assert str(flag & 1) == "T.bitwise_and(flag, T.bool(True))"
    assert str(0 | flag) == "T.bitwise_or(T.bool(False), flag)"
    with pytest.raises(tvm.error.InternalError):
        3 | tir.Var("x", "float16")
    assert str(small << 0) == "T.shift_left(small, T.int8(0))"
    assert str(tir.Var("i", "int32") << 0) == "i"


def test_what_of_literals_stays() -> None:
    half, byte = tir.const(6, "float16"), tir.const(6, "int8")
    assert str(half + half) == "T.float16(6.0) + T.float16(6.0)"
    assert str(byte & byte) == "T.bitwise_and(T.int8(6), T.int8(6))"
    assert str(byte % tir.const(4, "int8")) == "T.int8(6) % T.int8(4)"
    assert (byte + byte).value == 12
    assert str(tir.ceildiv(tir.Var("n", "int32"), 2)) == "(n + 2 - 1) // 2"
    assert str(tir.floor(tir.const(float("inf"), "float32"))) == 'T.float32("inf")'


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64"])
def test_negative_literals_are_no_unsigned_ones(dtype: str) -> None:
    wide = tir.Var("x", dtype)
    value = tir.const(-3, "int8")
    with pytest.raises(tvm.TVMError, match="cannot make uint from negative value -3"):
        wide < value  # noqa: B015


def test_bfloat16_meets_float16_and_bools_divide_as_integers() -> None:
    a, b = tir.Var("a", "bfloat16"), tir.Var("b", "float16")
    assert str(a * b) == 'T.Cast("float16", a) * b'
    assert str(b < a) == 'b < T.Cast("float16", a)'
    with pytest.raises(RuntimeError, match="TVM supports multiple types of integer divisions"):
        tir.Var("i", "int8") / True


def test_what_makes_no_literal() -> None:
    with pytest.raises(TypeError):
        tir.IntImm("int32", 2.0)  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match="Cannot automatically inference the type"):
        tir.const("text")
    with pytest.raises(tvm.TVMError, match="cannot make const for type handle"):
        tir.const(0, "handle")
    with pytest.raises(ValueError, match="Cannot handle str op argument nothing"):
        tir.Call("int32", "nothing", [])
