"""Python's operators on Relax expressions."""

from __future__ import annotations

import operator
from collections.abc import Callable

import pytest

from tvm import relax

pytestmark = pytest.mark.pure

X = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))


@pytest.mark.parametrize(
    ("apply", "name"),
    [
        (operator.add, "add"),
        (operator.sub, "subtract"),
        (operator.mul, "multiply"),
        (operator.truediv, "divide"),
        (operator.floordiv, "floor_divide"),
        (operator.mod, "mod"),
        (operator.pow, "power"),
        (operator.lt, "less"),
        (operator.le, "less_equal"),
        (operator.gt, "greater"),
        (operator.ge, "greater_equal"),
    ],
)
def test_binary(apply: Callable[..., relax.Call], name: str) -> None:
    call = apply(X, relax.const(1.0))
    assert call.op.name == f"relax.{name}"
    assert call.args[0] is X


def test_unary_and_cast() -> None:
    assert (-X).op.name == "relax.negative"
    assert X.astype("float16").attrs.dtype == "float16"


def test_numbers_must_be_constants() -> None:
    with pytest.raises(TypeError, match=r"Please convert 1 with `const` first"):
        _ = X + 1
    with pytest.raises(TypeError, match="type str is not supported"):
        _ = X + "a"
