"""Arithmetic on plain numbers against numpy's, for every type."""

from __future__ import annotations

import math
import random

import ml_dtypes
import numpy as np
import pytest

from tvm.support.dtype import DataType
from tvm.tir import scalar

pytestmark = pytest.mark.pure
INTS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
NUMPY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "floordiv": np.floor_divide,
    "floormod": np.remainder, "mod": np.fmod, "min": np.minimum, "max": np.maximum,
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "lt": np.less, "ge": np.greater_equal, "eq": np.equal,
}  # fmt: skip


@pytest.mark.parametrize("name", INTS)
def test_integers_as_numpy(name: str) -> None:
    dtype, rng = DataType(name), random.Random(0)
    low, high = scalar.int_range(dtype)
    edges = [low, low + 1, 0, 1, 2, 3, high - 1, high]
    pairs = [(a, b) for a in edges for b in edges]
    pairs += [(rng.randint(low, high), rng.randint(low, high)) for _ in range(200)]
    for op, reference in NUMPY.items():
        for a, b in pairs:
            got = scalar.binary(op, a, b, dtype)
            if b == 0 and op in ("floordiv", "floormod", "mod"):
                assert got is None
                continue
            with np.errstate(all="ignore"):
                want = reference(np.array(a, name), np.array(b, name))
            assert got == want.item(), f"{a} {op} {b} in {name}"


def test_truncating_division() -> None:
    assert [scalar.trunc_div(a, b) for a, b in ((7, 2), (-7, 2), (7, -2), (-7, -2))] == [
        3, -3, -3, 3,
    ]  # fmt: skip
    assert [scalar.trunc_mod(a, b) for a, b in ((7, 2), (-7, 2), (7, -2))] == [1, -1, 1]


def test_shifts_outside_the_width_have_no_meaning() -> None:
    int8 = DataType("int8")
    assert scalar.binary("shift_left", 1, 7, int8) == -128
    assert scalar.binary("shift_left", 1, 8, int8) is None
    assert scalar.binary("shift_right", -128, 3, int8) == -16
    assert scalar.binary("shift_right", 1, -1, int8) is None


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_floats_round_once_to_their_type(name: str) -> None:
    dtype, rng = DataType(name), random.Random(1)
    kind = np.dtype(name).type
    for _ in range(300):
        a, b = kind(rng.uniform(-9, 9)), kind(rng.uniform(-9, 9))
        for op, reference in (("add", np.add), ("mul", np.multiply), ("div", np.divide)):
            want = reference(a, b)
            assert scalar.binary(op, float(a), float(b), dtype) == float(want)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_small_floats_round_as_ml_dtypes(name: str) -> None:
    rng = random.Random(2)
    for _ in range(300):
        value = rng.uniform(-3, 3)
        want = float(np.float32(value).astype(getattr(ml_dtypes, name)))
        assert scalar.round_float(value, DataType(name)) == want


def test_float_special_values() -> None:
    f32 = DataType("float32")
    assert scalar.binary("div", 1.0, 0.0, f32) == math.inf
    assert scalar.binary("div", -1.0, 0.0, f32) == -math.inf
    assert math.isnan(scalar.binary("div", 0.0, 0.0, f32))
    assert scalar.binary("mul", 1e30, 1e30, f32) == math.inf


def test_casts() -> None:
    f32, i8, u8, b = (DataType(n) for n in ("float32", "int8", "uint8", "bool"))
    assert scalar.cast(300, DataType("int32"), i8) == 44
    assert scalar.cast(-1, i8, u8) == 255
    assert scalar.cast(2.9, f32, i8) == 2
    assert scalar.cast(-2.9, f32, i8) == -2
    assert scalar.cast(300.0, f32, i8) is None
    assert scalar.cast(math.nan, f32, i8) is None
    assert scalar.cast(0.5, f32, b) is True
    assert scalar.cast(16777217, DataType("int32"), f32) == 16777216.0


def test_functions_outside_their_domain() -> None:
    f32 = DataType("float32")
    assert scalar.unary_float(math.sqrt, 4.0, f32) == 2.0
    assert scalar.unary_float(math.sqrt, -1.0, f32) is None
    assert scalar.unary_float(math.exp, 1e9, f32) is None
