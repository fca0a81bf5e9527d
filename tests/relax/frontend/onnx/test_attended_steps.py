"""An LSTM that attends to a memory, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import Array, check_sizes, make_model
from tvm.error import OpAttributeInvalid, OpAttributeRequired
from tvm.relax.frontend.onnx import from_onnx

pytestmark = pytest.mark.cpu
IN, HIDDEN, WIDE, ATTENDED, OUT = 3, 4, 5, 6, 2
NAMES = (
    "x", "w", "r", "b", "lengths", "h", "c", "p", "query", "memory_weight", "vector", "memory",
    "memory_lengths", "out",
)  # fmt: skip
NEEDED = ("x", "w", "r", "query", "memory_weight", "vector", "memory")


def floats(seed: int, *shape: int) -> Array:
    return (np.random.default_rng(seed).standard_normal(shape) / 2).astype("float32")


def arrays(steps: int, batch: int, places: int, ways: int, names: tuple[str, ...]) -> Any:
    seen = OUT if "out" in names else WIDE
    lengths = np.arange(batch, dtype="int32")
    found = {
        "x": floats(0, steps, batch, IN), "w": floats(1, ways, 4 * HIDDEN, IN + seen),
        "r": floats(2, ways, 4 * HIDDEN, HIDDEN), "b": floats(3, ways, 8 * HIDDEN),
        "lengths": steps - lengths % steps, "h": floats(4, ways, batch, HIDDEN),
        "c": floats(5, ways, batch, HIDDEN), "p": floats(6, ways, 3 * HIDDEN),
        "query": floats(7, ways, HIDDEN, ATTENDED),
        "memory_weight": floats(8, ways, WIDE, ATTENDED), "vector": floats(9, ways, ATTENDED),
        "memory": floats(10, batch, places, WIDE), "memory_lengths": places - lengths % places,
        "out": floats(11, ways, WIDE + HIDDEN, OUT),
    }  # fmt: skip
    return {name: found[name] for name in NAMES if name in names}


def model_of(given: Any, **attrs: Any) -> Any:
    node = helper.make_node(
        "AttnLSTM", [name if name in given else "" for name in NAMES], ["y", "y_h", "y_c"],
        domain="com.microsoft", hidden_size=HIDDEN, **attrs,
    )  # fmt: skip
    moving = {"x": ("t", "n", IN), "memory": ("n", "m", WIDE), "lengths": ("n",),
              "memory_lengths": ("n",)}  # fmt: skip
    inputs = {name: array for name, array in given.items() if name in moving}
    weights = {name: array for name, array in given.items() if name not in moving}
    return make_model([node], inputs, ["y", "y_h", "y_c"], weights,
                      shapes={name: moving[name] for name in inputs})  # fmt: skip


def run(names: tuple[str, ...], ways: int = 1, **attrs: Any) -> None:
    runs = [arrays(*sizes, ways, names) for sizes in ((3, 2, 4), (5, 2, 7))]
    moving = ("x", "memory", "lengths", "memory_lengths")
    given = [{name: one[name] for name in one if name in moving} for one in runs]
    check_sizes(model_of(runs[0], **attrs), given, rtol=1e-5)


def test_what_is_needed_alone() -> None:
    run(NEEDED)


def test_all_inputs_both_ways() -> None:
    functions = ["HardSigmoid", "Softsign", "Tanh", "Sigmoid", "Affine", "Relu"]
    run(NAMES, 2, direction="bidirectional", clip=0.7, activations=functions,
        activation_alpha=[0.3, 0.7], activation_beta=[0.4, 0.1])  # fmt: skip


def test_backwards_from_each_end() -> None:
    run((*NEEDED, "lengths", "b"), direction="reverse", input_forget=1)


def test_what_is_no_layer() -> None:
    given = arrays(3, 2, 4, 1, NEEDED)
    with pytest.raises(OpAttributeInvalid, match="forward, reverse, bidirectional"):
        from_onnx(model_of(given, direction="sideways"))
    del given["memory"]
    with pytest.raises(OpAttributeRequired, match="input number 11 is missing"):
        from_onnx(model_of(given))
