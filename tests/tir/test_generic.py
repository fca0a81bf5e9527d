"""Arithmetic as functions is that of the operators."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.ir import assert_structural_equal
from tvm.tir import generic

pytestmark = pytest.mark.pure


def test_same_as_operators() -> None:
    x, y = tir.Var("x", "float32"), tir.Var("i", "int32")
    for made, wanted in (
        (generic.add(x, 1), x + 1),
        (generic.subtract(x, 1), x - 1),
        (generic.multiply(x, 2), x * 2),
        (generic.divide(x, 2), x / 2),
        (generic.floordiv(y, 2), y // 2),
        (generic.cast(y, "float32"), y.astype("float32")),
    ):
        assert_structural_equal(made, wanted, map_free_vars=True)
