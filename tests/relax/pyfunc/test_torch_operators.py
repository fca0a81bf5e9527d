"""The map of operators: each name runs in torch, and agrees with its meaning in numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tvm.ir.op import Op
from tvm.relax import op
from tvm.relax.pyfunc.language import LANGUAGE
from tvm.relax.pyfunc.torch_operators import OPERATOR_MAP, torch_call

from . import test_torch_nn_rules, test_torch_rules
from .torch_running import assert_same_in_torch, floats, ints

pytestmark = pytest.mark.cpu
X = floats(2, 4, 6)
TRUTHS = [floats(3, 4) > 0, floats(3, 4) > 0]
NUMBERS = [ints(3, 4, low=-9, high=9), ints(3, 4, low=1, high=5)]
BITS = [ints(3, 4, high=99), ints(3, 4, low=1, high=5)]
BESIDE_ONE = [floats(3, 4, low=-0.9, high=0.9)]
ABOVE_ONE = [floats(3, 4, low=1.1, high=3.0)]

ONE = ("abs", "ceil", "cos", "cosh", "erf", "exp", "floor", "isfinite", "isinf", "isnan",
       "negative", "round", "sigmoid", "sign", "sin", "sinh", "square", "tan", "tanh", "trunc",
       "atan", "asinh")  # fmt: skip
TWO = ("add", "equal", "greater", "greater_equal", "less", "less_equal", "log_add_exp", "maximum",
       "minimum", "multiply", "not_equal", "subtract", "floor_divide", "floor_mod",
       "mod")  # fmt: skip
OPERANDS: dict[str, list[np.ndarray[Any, Any]]] = {
    **{name: [X] for name in ONE},
    **{name: [X, floats(2, 4, 6)] for name in TWO},
    **{name: ABOVE_ONE for name in ("acosh", "log", "rsqrt", "sqrt")},
    **{name: BESIDE_ONE for name in ("acos", "asin", "atanh")},
    **{name: TRUTHS for name in ("logical_and", "logical_or", "logical_xor")},
    **{name: BITS for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift",
                               "right_shift")},
    "bitwise_not": NUMBERS[:1],
    "logical_not": TRUTHS[:1],
    "matmul": [X, floats(6, 3)],
    "outer": [floats(3), floats(4)],
    "power": [floats(3, 4, low=0.5), floats(3, 4)],
    "where": [TRUTHS[0], floats(3, 4), floats(3, 4)],
}  # fmt: skip


@pytest.mark.parametrize("name", OPERANDS)
def test_operators_of_tensors_alone(name: str) -> None:
    assert_same_in_torch(name, getattr(op, name), OPERANDS[name])


@pytest.mark.parametrize("name", ["floor_divide", "floor_mod", "mod", "maximum", "multiply"])
def test_integers_round_alike(name: str) -> None:
    assert_same_in_torch(name, getattr(op, name), NUMBERS)


# names that stand for several operators of Relax, which torch has as one
COMPOSED: dict[str, tuple[Callable[[Any], list[Any]], dict[str, Any], Any]] = {
    "linear": (lambda t: [t(X), t(X[0])], {}, X @ X[0].T),
    "nn.linear": (lambda t: [t(X), t(X[0]), t(X[0, :, 0])], {}, X @ X[0].T + X[0, :, 0]),
    "masked_fill": (lambda t: [t(X), t(X > 0), 1.5], {}, np.where(X > 0, np.float32(1.5), X)),
    "roll": (lambda t: [t(X)], {"shift": [1, 2], "axis": [0, 2]}, np.roll(X, (1, 2), (0, 2))),
    "rot90": (lambda t: [t(X)], {"k": 3, "axes": [1, 2]}, np.rot90(X, 3, (1, 2))),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPOSED)
def test_names_of_several_operators(name: str) -> None:
    torch = pytest.importorskip("torch")
    operands, options, wanted = COMPOSED[name]
    found = torch_call(f"relax.{name}", OPERATOR_MAP, operands(torch.from_numpy), options)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-5)


def test_a_transposed_convolution_of_bodies() -> None:
    torch = pytest.importorskip("torch")
    x, w = torch.from_numpy(floats(1, 3, 3, 4, 5)), torch.from_numpy(floats(3, 2, 2, 2, 2))
    options = {"strides": [2], "padding": [0, 1, 1, 1, 0, 1], "output_padding": [0],
               "dilation": [1], "groups": 1}  # fmt: skip
    found = torch_call("relax.nn.conv3d_transpose", OPERATOR_MAP, [x, w], options)
    whole = torch.nn.functional.conv_transpose3d(x, w, stride=2)
    torch.testing.assert_close(found, whole[:, :, :-1, 1:, 1:-1])


def test_each_name_is_tried() -> None:
    """Every name of the map runs in a test here, in one of the rules, or is of the language."""
    tried = {*OPERANDS, *COMPOSED, "nn.conv3d_transpose"}
    tried |= {name.partition(" ")[0] for name in test_torch_rules.CASES}
    tried |= {f"nn.{name.partition(' ')[0]}" for name in test_torch_nn_rules.CASES}
    words = {name.removeprefix("relax.") for name in LANGUAGE} | {"wrap_param"}
    assert {name.removeprefix("relax.") for name in OPERATOR_MAP} == tried | words


def test_names_are_operators_of_relax() -> None:
    composed = {f"relax.{name}" for name in (*COMPOSED, "nn.conv3d_transpose", "nn.relu6")}
    assert all(Op.get(name) is not None for name in OPERATOR_MAP if name not in composed)
