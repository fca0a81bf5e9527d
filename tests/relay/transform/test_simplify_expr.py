"""Programs before and after they were simplified, and what stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.relay.transform.numbers import equal, module, same_numbers
from tvm import relay
from tvm.relay import transform as t

pytestmark = pytest.mark.pure

X = relay.var("x", shape=(1, 8, 4, 6))
S = relay.var("s", shape=(4,))
I = relay.var("i", shape=(4,), dtype="int32")
B = relay.var("b", shape=(4,), dtype="int8")
Y = relay.var("y", shape=(32, 6))


def c(value: float, dtype: str = "float32") -> Any:
    return relay.const(value, dtype)


move = relay.layout_transform
CASES: dict[str, tuple[Callable[[], Any], Callable[[], Any], Any]] = {
    "reshapes": (lambda: relay.reshape(relay.reshape(X, (1, -1)), (32, 6)),
                 lambda: relay.reshape(X, (32, 6)), X),
    "reversed reshape": (lambda: relay.reshape(relay.reverse_reshape(X, (0, -1)), (32, 6)),
                         lambda: relay.reshape(X, (32, 6)), X),
    "layouts back": (lambda: move(move(X, "NCHW", "NHWC"), "NHWC", "NCHW"), lambda: X, X),
    "transpose and layout": (lambda: move(relay.transpose(X, (0, 2, 3, 1)), "NHWC", "NCHW"),
                             lambda: X, X),
    "layouts as one": (lambda: relay.transpose(move(X, "NCHW", "NHWC"), (3, 0, 1, 2)),
                       lambda: relay.transpose(X, (1, 0, 2, 3)), X),
    "into blocks": (lambda: move(relay.transpose(X, (0, 2, 3, 1)), "NHWC", "NCHW4c"),
                    lambda: move(X, "NCHW", "NCHW4c"), X),
    "blocks turned": (lambda: relay.transpose(move(X, "NCHW", "NCHW4c"), (0, 2, 3, 1, 4)),
                      lambda: move(X, "NCHW", "NHWC4c"), X),
    "like zeros": (lambda: relay.zeros_like(S), lambda: relay.zeros((4,), "float32"), S),
    "like full": (lambda: relay.full_like(S, c(2)), lambda: relay.full(c(2), (4,), "float32"), S),
    "like a shape": (lambda: relay.reshape_like(X, Y), lambda: relay.reshape(X, (32, 6)), (X, Y)),
    "like a type": (lambda: relay.cast_like(I, S), lambda: relay.cast(I, "float32"), (I, S)),
    "like a broadcast": (lambda: relay.broadcast_to_like(c(1), S),
                         lambda: relay.broadcast_to(c(1), (4,)), S),
    "sums": (lambda: (S + c(1)) + c(2), lambda: S + c(3), S),
    "products": (lambda: c(3) * (S * c(2)), lambda: S * c(6), S),
    "a factor": (lambda: (S + c(3)) * c(2), lambda: S * c(2) + c(6), S),
    "twice": (lambda: I + I, lambda: I * c(2, "int32"), I),
    "full of one number": (lambda: relay.subtract(relay.ones((4,), "float32"), S),
                           lambda: relay.subtract(c(1), S), S),
    "nothing is added": (lambda: relay.zeros_like(S) + S * relay.full(c(1), (4,), "float32"),
                         lambda: S, S),
    "roots": (lambda: c(3) / relay.sqrt(S), lambda: c(3) * relay.rsqrt(S), S),
    "wider and wider": (lambda: relay.cast(relay.cast(B, "int32"), "float32"),
                        lambda: relay.cast(B, "float32"), B),
    "there and back": (lambda: relay.cast(relay.cast(B, "int16"), "int8"), lambda: B, B),
    "within limits": (lambda: relay.cast(relay.cast(relay.clip(I, 0, 255), "uint8"), "int32"),
                      lambda: relay.clip(I, 0, 255), I),
    "limits of the type": (lambda: relay.clip(relay.cast(I, "uint8"), 0.0, 255.0),
                           lambda: relay.cast(I, "uint8"), I),
    "limits of a variable": (lambda: relay.clip(B, -128.0, 127.0), lambda: B, B),
    "to the same shape": (lambda: relay.reshape(S, (4,)), lambda: relay.reshape(S, (4,)), S),
    "limits beyond the type": (lambda: relay.clip(relay.cast(S, "int8"), -200.0, 127.0),
                               lambda: relay.cast(S, "int8"), S),
    "places of real numbers": (
        lambda: relay.argmax(relay.qnn.dequantize(B, c(0.5), c(3, "int32"))),
        lambda: relay.argmax(B), B),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_simpler(name: str) -> None:
    before, after, params = CASES[name]
    given = params if isinstance(params, tuple) else (params,)
    made = t.SimplifyExpr()(module(before(), *given))
    equal(made, after(), *given)


@pytest.mark.parametrize(
    "expr",
    [
        lambda: relay.cast(relay.cast(I, "int8"), "int32"),  # some numbers are lost
        lambda: relay.cast(relay.cast(B, "uint8"), "int32"),  # negative ones change
        lambda: relay.cast(relay.cast(I, "float32"), "int32"),  # large ones are rounded
        lambda: relay.cast(relay.cast(relay.clip(I, 0, 300), "uint8"), "int32"),
        lambda: relay.clip(relay.cast(I, "uint8"), 0.0, 254.0),
        lambda: relay.clip(relay.cast(I, "float16"), -65504.0, 65504.0),  # infinities are clipped
        lambda: relay.argmax(relay.qnn.dequantize(B, c(-0.5), c(3, "int32"))),
        lambda: move(move(X, "NCHW", "NCHW4c"), "NCHW4c", "NCHW2c"),
        lambda: (S + S * c(2)) * S,
    ],
)
def test_what_would_change_stays(expr: Any) -> None:
    given = relay.analysis.free_vars(expr())
    before = t.InferType()(module(expr(), *given))
    equal(t.SimplifyExpr()(before), expr(), *given)


def test_numbers_stay() -> None:
    before = module(relay.multiply((S + c(3)) + (S + S), c(2)), S)
    same_numbers(before, t.SimplifyExpr()(before))
