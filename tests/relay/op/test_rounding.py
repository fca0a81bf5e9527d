"""Halves go away from zero: as the program runs, as it is folded, and in what quantizes."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.frontend.common import infer_value

pytestmark = pytest.mark.cpu
# 0.49999997 + 0.5 is 1 in float32
VALUES = [-2.5, -1.5, -0.5, -0.25, 0.0, 0.49999997, 0.5, 1.5, 2.5, 8388609.0, np.inf, -np.inf]
WANTED = [-3.0, -2.0, -1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 8388609.0, np.inf, -np.inf]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_halves_go_away_from_zero(dtype: str) -> None:
    values = np.array(VALUES, dtype)
    x = relay.var("x", shape=values.shape, dtype=dtype)
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.round(x)))
    made = relay.create_executor("graph", mod=mod).evaluate()(values).numpy()
    np.testing.assert_array_equal(made, np.array(WANTED, dtype))
    folded = infer_value(relay.round(relay.const(values, dtype)), {}).numpy()
    np.testing.assert_array_equal(folded, np.array(WANTED, dtype))


def test_what_is_no_number_stays_so_and_integers_stay() -> None:
    assert np.isnan(infer_value(relay.round(relay.const(np.nan)), {}).numpy())
    assert infer_value(relay.round(relay.const([3, -2])), {}).numpy().tolist() == [3, -2]


def test_quantized_halves() -> None:
    real = relay.const(np.array([0.5, 1.5, -0.5, -2.5], "float32"))
    made = relay.qnn.quantize(real, relay.const(1.0), relay.const(0))
    mod = relay.qnn.transform.CanonicalizeOps()(tvm.IRModule.from_expr(made))
    found = infer_value(mod["main"].body, {}).numpy()
    assert found.tolist() == [1, 2, -1, -3]
