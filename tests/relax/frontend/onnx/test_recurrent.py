"""Recurrent layers, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import check, make_model

pytestmark = pytest.mark.cpu
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
STEPS, BATCH, IN, HIDDEN = 3, 2, 4, 5


def run(
    op: str, *, full: bool = False, layout: int = 0, inputs: bool = False, **attrs: Any
) -> None:
    rng = np.random.default_rng(1)
    ways = 2 if attrs.get("direction") == "bidirectional" else 1

    def floats(*shape: int) -> Any:
        return rng.standard_normal(shape).astype("float32") / 2

    rows = GATES[op] * HIDDEN
    x = floats(BATCH, STEPS, IN) if layout else floats(STEPS, BATCH, IN)
    state = (BATCH, ways, HIDDEN) if layout else (ways, BATCH, HIDDEN)
    weights = {
        "w": floats(ways, rows, IN), "r": floats(ways, rows, HIDDEN), "b": floats(ways, 2 * rows),
        "lengths": np.array([3, 2], "int32"), "h": floats(*state), "c": floats(*state),
        "p": floats(ways, 3 * HIDDEN),
    }  # fmt: skip
    names = ["w", "r"]
    if full:
        names += ["b", "lengths", "h", *(["c", "p"] if op == "LSTM" else [])]
    outputs = ["y", "y_h", *(["y_c"] if op == "LSTM" else [])]
    node = helper.make_node(op, ["x", *names], outputs, hidden_size=HIDDEN, layout=layout, **attrs)
    used = {name: weights[name] for name in names}
    arrays = {"x": x, **used} if inputs else {"x": x}
    model = make_model([node], arrays, outputs, {} if inputs else used, opset=14)
    check(model, arrays, rtol=1e-4)


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("full", [False, True])
def test_directions_and_inputs(op: str, direction: str, full: bool) -> None:
    run(op, full=full, direction=direction)


@pytest.mark.parametrize("op", GATES)
def test_weights_that_are_computed(op: str) -> None:
    run(op, full=True, inputs=True, direction="bidirectional")


def test_forms_of_gates() -> None:
    run("GRU", full=True, linear_before_reset=1)
    run("LSTM", full=True, input_forget=1)
    run("LSTM", clip=0.3)
    run("RNN", activations=["Relu"])
    run("LSTM", activations=["HardSigmoid", "Softsign", "ScaledTanh"],
        activation_alpha=[0.3, 1.2], activation_beta=[0.4, 0.7])  # fmt: skip
