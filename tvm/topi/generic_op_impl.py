"""Python's operators on tensors are broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm.te.tensor import TENSOR_OPERATORS
from tvm.tir.expr import make_const

from . import broadcast, math

_RULES: dict[str, Callable[..., Any]] = {
    "add": broadcast.add,
    "subtract": broadcast.subtract,
    "multiply": broadcast.multiply,
    "divide": broadcast.divide,
    "floordiv": broadcast.floor_divide,
    "mod": broadcast.floor_mod,
    "power": broadcast.power,
    "left_shift": broadcast.left_shift,
    "right_shift": broadcast.right_shift,
    "bitwise_and": broadcast.bitwise_and,
    "bitwise_or": broadcast.bitwise_or,
    "bitwise_xor": broadcast.bitwise_xor,
    "bitwise_not": broadcast.bitwise_not,
    "less": broadcast.less,
    "less_equal": broadcast.less_equal,
    "greater": broadcast.greater,
    "greater_equal": broadcast.greater_equal,
    "equal": lambda a, b, span=None: broadcast.equal(a, b),
    "not_equal": lambda a, b, span=None: broadcast.not_equal(a, b),
    # minus one times, as with expressions: -0.0 of zero, and the name that products have
    "negative": lambda x, span=None: broadcast.multiply(x, make_const(-1, x.dtype)),
    "astype": math.cast,
}

for _name, _rule in _RULES.items():
    TENSOR_OPERATORS.register(_name, _rule)
