"""Recurrent layers, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import check, check_sizes, make_model
from tvm.relax.frontend.onnx import from_onnx

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


@pytest.mark.covering(1)
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


OPEN = [
    ("RNN", {}), ("GRU", {}), ("GRU", {"linear_before_reset": 1}), ("LSTM", {}),
    ("LSTM", {"input_forget": 1}), ("LSTM", {"clip": 0.4}),
    ("RNN", {"activations": ["LeakyRelu"], "activation_alpha": [0.3]}),
    ("GRU", {"activations": ["HardSigmoid", "Softsign"]}),
]  # fmt: skip


@pytest.mark.covering(1)
@pytest.mark.parametrize("way", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(("op", "attrs"), OPEN)
def test_steps_that_are_an_extent(op: str, attrs: dict[str, Any], way: str) -> None:
    rng = np.random.default_rng(3)
    gates, ways, hidden = {"RNN": 1, "GRU": 3, "LSTM": 4}[op], 1 + (way == "bidirectional"), 5
    weights = {
        "w": rng.standard_normal((ways, gates * hidden, 4)).astype("float32"),
        "r": rng.standard_normal((ways, gates * hidden, hidden)).astype("float32"),
        "b": rng.standard_normal((ways, 2 * gates * hidden)).astype("float32"),
    }
    attrs = {key: v * ways if isinstance(v, list) else v for key, v in attrs.items()}
    outputs = ["y", "h", "c"][: 3 if op == "LSTM" else 2]
    names = ["x", "w", "r", "b", "lengths"]
    layer = helper.make_node(op, names, outputs, hidden_size=hidden, direction=way, **attrs)
    runs: list[dict[str, Any]] = [
        {"x": rng.standard_normal((steps, batch, 4)).astype("float32"),
         "lengths": rng.integers(1, steps + 1, batch).astype("int32")}
        for steps, batch in ((6, 2), (1, 1), (9, 3))
    ]  # fmt: skip
    shapes: dict[str, list[Any]] = {"x": ["steps", "batch", 4], "lengths": ["batch"]}
    model = make_model([layer], runs[0], outputs, weights, shapes=shapes)
    check_sizes(model, runs, 1e-4)


@pytest.mark.parametrize("op", GATES)
def test_many_steps_are_one_kernel(op: str) -> None:
    names = ["x", "w", "r"]
    rows = GATES[op] * 2
    rng = np.random.default_rng(2)
    values = [rng.standard_normal(s).astype("float32") / 2
              for s in ((600, 1, 2), (1, rows, 2), (1, rows, 2))]  # fmt: skip
    node = helper.make_node(op, names, ["y"], hidden_size=2)
    model = make_model([node], dict(zip(names, values)), ["y"], opset=14)
    assert len(from_onnx(model).functions) > 1  # kernels beside `main`: nothing is written out
    check(model, dict(zip(names, values)), rtol=1e-4)
