"""Causal convolutions with a state against ONNX Runtime, with open extents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import Array, check, make_model, run_compiled
from tvm.error import OpAttributeInvalid, TVMError
from tvm.relax.frontend.onnx import from_onnx

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(0)
STARTS = np.array([0, 3, 4, 9], "int32")


def floats(*shape: int) -> Any:
    return (RNG.standard_normal(shape) * 0.5).astype("float32")


def model_of(op: str, given: dict[str, Array | None], outputs: int = 2, **attrs: Any) -> Any:
    """Of inputs that may be left out; the first two axes of x but channels are open."""
    arrays = {name: array for name, array in given.items() if array is not None}
    packed = op.startswith("Varlen")
    shapes: dict[str, Any] = {"starts": ["ends"]}
    shapes["x"] = ["n", 6] if packed else ["n", *arrays["x"].shape[1:]]
    inputs = [name if array is not None else "" for name, array in given.items()]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, inputs, results, domain="com.microsoft", name="step", **attrs)
    return make_model([node], arrays, results, shapes=shapes), arrays


@pytest.mark.parametrize(("shape", "taps", "state", "attrs"), [
    ((2, 6, 5), 3, (2, 6, 2), {"activation": "silu"}),
    ((2, 6, 1), 4, (2, 6, 3), {}),
    ((2, 6, 3), 1, None, {}),
    ((2, 6, 5), 3, (2, 6, 4), {"dilation": 2}),
    ((2, 5, 6), 3, (2, 2, 6), {"channels_last": 1}),
    ((2, 5, 2, 3), 3, (2, 4, 2, 3), {"channels_last": 1, "dilation": 2, "activation": "swish"}),
    ((2, 5, 2, 3), 3, None, {"channels_last": 1}),
])  # fmt: skip
def test_state(shape: Any, taps: int, state: Any, attrs: Any) -> None:
    given = {"x": floats(*shape), "weight": floats(6, 1, taps), "bias": floats(6),
             "state": floats(*state) if state else None}  # fmt: skip
    check(*model_of("CausalConvWithState", given, **attrs), rtol=1e-4)


@pytest.mark.parametrize(("taps", "attrs"), [
    (3, {}), (3, {"dilation": 2, "activation": "silu"}), (1, {}), (3, {"state_update_capacity": 3})
])
def test_sequences_behind_each_other(taps: int, attrs: Any) -> None:
    reach = (taps - 1) * attrs.get("dilation", 1)
    given = {"x": floats(9, 6), "weight": floats(6, 1, taps), "starts": STARTS,
             "bias": floats(6) if taps == 3 else None, "state": floats(3, 6, reach)}  # fmt: skip
    if captured := "state_update_capacity" in attrs:
        given["counts"] = np.array([2, -1, 9], "int32")
    check(*model_of("VarlenCausalConvWithState", given, 2 + captured, **attrs), rtol=1e-4)


@pytest.mark.parametrize("starts", [[1, 3, 4, 9], [0, 3, 4, 8], [0, 5, 4, 9]])
def test_where_sequences_begin_is_checked(starts: list[int]) -> None:
    given = {"x": floats(9, 6), "weight": floats(6, 1, 3), "starts": np.array(starts, "int32"),
             "bias": None, "state": floats(3, 6, 2)}  # fmt: skip
    with pytest.raises(AssertionError, match="'step': where sequences begin"):
        run_compiled(*model_of("VarlenCausalConvWithState", given))


@pytest.mark.parametrize(("attrs", "text"), [
    ({"state_window": 2}, "state_window"), ({"ndim": 2}, "ndim"), ({"dilation": 0}, "at least 1"),
    ({"activation": "relu"}, "none, silu, swish"), ({"state_channels_last": 1}, "legal: -1"),
])  # fmt: skip
def test_refuses(attrs: Any, text: str) -> None:
    given: dict[str, Array | None] = {"x": floats(2, 6, 5), "weight": floats(6, 1, 3)}
    with pytest.raises(OpAttributeInvalid, match=text):
        from_onnx(model_of("CausalConvWithState", given, **attrs)[0])


def test_lengths_of_states() -> None:
    given = {"x": floats(2, 6, 5), "weight": floats(6, 1, 3), "bias": None,
             "state": floats(2, 6, 1)}  # fmt: skip
    with pytest.raises(TVMError, match="'step'"):
        from_onnx(model_of("CausalConvWithState", given)[0])
