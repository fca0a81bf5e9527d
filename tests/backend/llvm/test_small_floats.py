"""bfloat16 and floats of 8, 6 and 4 bits, bit by bit against ml_dtypes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.backend.llvm.kernel import evaluate
from tvm.error import DTypeError
from tvm.support.dtype import DataType
from tvm.tir import expr as e

pytestmark = pytest.mark.cpu
FORMATS = (
    "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn",
    "float6_e3m2fn", "float4_e2m1fn",
)  # fmt: skip


def edge_cases() -> np.ndarray:
    rng = np.random.default_rng(0)
    exponents = rng.integers(-140, 128, 4000)
    values = (rng.uniform(-2, 2, 4000) * np.exp2(exponents.astype("float64"))).astype("float32")
    special = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        1e-40,
        3.4e38,
        448,
        464,
        465,
        57344,
        61440,
        65504,
    ]
    ties = np.arange(1, 2048, dtype="float32") / 1024
    found = np.concatenate([values, np.array(special, "float32"), ties]).astype("float32")
    return found[: len(found) // 8 * 8]


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("name", FORMATS)
def test_narrowing_rounds_as_ml_dtypes(name: str, lanes: int) -> None:
    values = edge_cases()
    kind = name if lanes == 1 else f"{name}x{lanes}"
    with np.errstate(all="ignore"):
        expected = values.astype(getattr(ml_dtypes, name))
    made = evaluate(lambda x: e.Cast(kind, x), values, lanes=lanes)
    same = (made.astype("float32") == expected.astype("float32")) | (
        np.isnan(made.astype("float32")) & np.isnan(expected.astype("float32"))
    )
    wrong = np.flatnonzero(~same)
    assert wrong.size == 0, (values[wrong][:5], made[wrong][:5], expected[wrong][:5])


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("name", FORMATS)
def test_widening_is_exact_for_every_value(name: str, lanes: int) -> None:
    count = 1 << DataType(name).bits
    bits = np.arange(count).astype("uint16" if name == "bfloat16" else "uint8")
    values = bits.view(getattr(ml_dtypes, name))
    kind = "float32" if lanes == 1 else f"float32x{lanes}"
    made = evaluate(lambda x: e.Cast(kind, x), values, lanes=lanes)
    np.testing.assert_array_equal(made, values.astype("float32"))


def test_arithmetic_of_bfloat16_is_rounded_once() -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(size=256).astype(ml_dtypes.bfloat16)
    b = rng.normal(size=256).astype(ml_dtypes.bfloat16)
    for node, expected in ((e.Add, a + b), (e.Mul, a * b), (e.Max, np.maximum(a, b))):
        np.testing.assert_array_equal(evaluate(node, a, b, lanes=8), expected)
    np.testing.assert_array_equal(evaluate(e.LT, a, b), a < b)


def test_formats_without_a_conversion_are_refused() -> None:
    with pytest.raises(DTypeError) as caught:
        evaluate(lambda x: e.Cast("float128", x), np.zeros(4, "float32"))
    assert "machine code for values of float128" in str(caught.value)
