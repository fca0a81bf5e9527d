"""GatedDeltaNet against ONNX Runtime: rules, activations, packed and captured tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import Array, check, make_model, run_compiled
from tvm.error import OpAttributeInvalid
from tvm.relax.frontend.onnx import from_onnx

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(0)
NAMES = ("query", "key", "value", "starts", "decay", "beta", "state", "a_log", "dt_bias",
         "counts", "active")  # fmt: skip
EVEN = np.array([0, 3, 6, 9], "int32")


def floats(*shape: int) -> Any:
    return (RNG.standard_normal(shape) * 0.5).astype("float32")


def given(*apart: int, **others: Array | None) -> dict[str, Array]:
    """Nine tokens in three sequences, two heads of keys, four of values; None leaves one out."""
    found: dict[str, Any] = {
        "query": floats(9, 2, 4), "key": floats(9, 2, 4), "value": floats(9, 4, 3),
        "starts": np.array([0, 3, 4, 9], "int32"), "decay": -abs(floats(9, 4, *apart)),
        "beta": 1 / (1 + np.exp(floats(9, 4))), "state": floats(3, 4, 3, 4), **others,
    }  # fmt: skip
    return {name: found[name] for name in NAMES if found.get(name) is not None}


def model_of(arrays: Mapping[str, Array], outputs: int = 2, **attrs: Any) -> Any:
    """How many tokens there are is open."""
    inputs = [name if name in arrays else "" for name in NAMES]
    while not inputs[-1]:
        inputs.pop()
    open_ones = ("query", "key", "value", "decay", "beta")
    shapes = {name: ("t", *arrays[name].shape[1:]) for name in open_ones if name in arrays}
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node("GatedDeltaNet", inputs, results, domain="com.microsoft", name="net",
                            **attrs)  # fmt: skip
    return make_model([node], arrays, results, shapes=shapes)


def same(arrays: Mapping[str, Array], outputs: int = 2, **attrs: Any) -> None:
    check(model_of(arrays, outputs, **attrs), arrays, rtol=1e-4)


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
def test_rules(rule: str) -> None:
    left_out = {name: None for name, word in (("decay", "gated"), ("beta", "delta"))
                if word not in rule}  # fmt: skip
    same(given(**left_out), update_rule=rule, qk_l2_norm=1, scale=0.3)


@pytest.mark.parametrize("gate", ["softplus", "qwen", "sigmoid", "kda"])
@pytest.mark.parametrize("apart", [(), (4,)])
def test_activations(gate: str, apart: tuple[int, ...]) -> None:
    arrays = given(*apart, a_log=floats(4), dt_bias=floats(4, *apart))
    same(arrays, gate_activation=gate, beta_activation="sigmoid", qk_l2_norm=1)


def test_tokens_as_they_may_lie() -> None:
    arrays = given(4, query=floats(9, 28), key=None, value=None)
    same(arrays, qk_l2_norm=1)
    same(given(state=None))
    apart = {name: array.reshape(3, 3, *array.shape[1:]) for name, array in given().items()
             if name not in ("starts", "state")}  # fmt: skip
    same(apart)


@pytest.mark.parametrize("active", [None, 1, 0])
def test_first_steps(active: int | None) -> None:
    chosen = None if active is None else np.array([active], "int32")
    arrays = given(starts=EVEN, counts=np.array([3, 3, 9], "int32"), active=chosen)
    same(arrays, 3, state_update_capacity=3, qk_l2_norm=1)


@pytest.mark.parametrize(("attrs", "text"), [
    ({"update_rule": "other"}, "linear, gated"), ({"update_rule": "delta"}, "decay of the rule"),
    ({"gate_activation": "softplus"}, "a_log"), ({"beta_activation": "tanh"}, "none, sigmoid"),
])  # fmt: skip
def test_refuses(attrs: Any, text: str) -> None:
    with pytest.raises(OpAttributeInvalid, match=text):
        from_onnx(model_of(given(), **attrs))
    model = model_of(given())
    model.graph.input[2].type.tensor_type.shape.dim[1].dim_param = "heads"
    with pytest.raises(OpAttributeInvalid, match="heads and their sizes"):
        from_onnx(model)
    with pytest.raises(OpAttributeInvalid, match="a multiple of 2"):
        from_onnx(model_of(given(value=floats(9, 3, 3))))
    with pytest.raises(OpAttributeInvalid, match="as query has"):
        from_onnx(model_of(given(query=floats(9, 4, 4))))
    with pytest.raises(OpAttributeInvalid, match="the width of query"):
        from_onnx(model_of(given(query=floats(9, 29), key=None, value=None)))


def test_where_sequences_begin_is_checked() -> None:
    arrays = given(starts=np.array([0, 3, 4, 10], "int32"))
    with pytest.raises(AssertionError, match="'net': where sequences begin"):
        run_compiled(model_of(arrays), arrays)
