"""Casts to powers of two (float8e8m0), against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from tests.relax.frontend.onnx.models import make_model, run_compiled, run_onnx
from tvm.error import OpAttributeInvalid
from tvm.relax.frontend.onnx import from_onnx

pytestmark = pytest.mark.cpu
LEAST, MOST = 2.0**-127, 2.0**127
NUMBERS = np.array(
    [0, -0.0, 1e-45, LEAST / 2, LEAST, 1.4 * LEAST, 1.5 * LEAST, 1.6 * LEAST, 2 * LEAST, 0.124,
     0.125, 0.3, 1, 1.1, 1.49, 1.5, 1.51, 2, 3, -3, -1e-45, MOST / 2, 0.6 * MOST, MOST, 1.2 * MOST,
     1.9 * MOST, np.inf, -np.inf, np.nan],
    "float32",
)  # fmt: skip


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_of_two(mode: str, saturate: int, dtype: str) -> None:
    """There and back, since ONNX Runtime gives no such tensors out."""
    there = helper.make_node(
        "Cast", ["x"], ["z"], to=TensorProto.FLOAT8E8M0, round_mode=mode, saturate=saturate
    )
    back = helper.make_node("Cast", ["z"], ["y"], to=TensorProto.FLOAT)
    inputs = {"x": NUMBERS.astype(dtype)}
    (wanted,) = run_onnx(make_model([there, back], {"x": NUMBERS}, ["y"], opset=24), {"x": NUMBERS})
    (got,) = run_compiled(make_model([there], inputs, ["z"], opset=24), inputs)
    np.testing.assert_array_equal(got.astype("float32"), wanted)


def test_doubles_just_above_a_power_round_up() -> None:
    """They would be the power itself in fewer bits."""
    node = helper.make_node("Cast", ["x"], ["z"], to=TensorProto.FLOAT8E8M0)
    inputs = {"x": np.array([1 + 2.0**-50, 1.0, 1e300, 1e-300])}
    (got,) = run_compiled(make_model([node], inputs, ["z"], opset=24), inputs)
    assert got.astype("float64").tolist() == [2.0, 1.0, MOST, LEAST]


def test_another_rounding_is_refused() -> None:
    node = helper.make_node("Cast", ["x"], ["z"], to=TensorProto.FLOAT8E8M0, round_mode="odd")
    with pytest.raises(OpAttributeInvalid, match="legal: up, down, nearest"):
        from_onnx(make_model([node], {"x": NUMBERS}, ["z"], opset=24))
