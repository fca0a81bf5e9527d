"""Values brought into the range of a type."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.relax.transform.legalize_ops.qdq import clip_cast, is_const_scalar
from tvm.tir.interp import evaluate

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(("value", "wanted"), [(300.0, 127), (-300.0, -128), (5.0, 5)])
def test_range(value: float, wanted: int) -> None:
    x = tir.Var("x", "float32")
    clipped = clip_cast(x, "int8")
    assert clipped.dtype == "int8"
    assert evaluate(clipped, {x: value}) == wanted


def test_numbers_are_known_or_not() -> None:
    assert is_const_scalar(tir.const(1, "int32"))
    assert is_const_scalar(tir.const(1.5, "float32"))
    assert not is_const_scalar(tir.Var("x", "int32"))
