"""Products with weights in blocks of rows."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.error import DiagnosticError

pytestmark = pytest.mark.cpu


def test_blocks_of_rows() -> None:
    rng = np.random.default_rng(0)
    data, weight = (rng.normal(size=s).astype("float32") for s in ((3, 5), (16, 5)))
    blocks = np.ascontiguousarray(weight.reshape(2, 8, 5).transpose(0, 2, 1))
    x, w = relay.var("x", shape=(3, 5)), relay.var("w", shape=(2, 5, 8))
    func = relay.Function([x, w], relay.nn.contrib_dense_pack(x, w, "NC8n", units=16))
    typed = relay.transform.InferType()(tvm.IRModule.from_expr(func))
    assert typed["main"].ret_type == relay.TensorType((3, 16))
    found = relay.create_executor("graph", typed).evaluate()(data, blocks)
    np.testing.assert_allclose(found.numpy(), data @ weight.T, rtol=1e-4, atol=1e-5)


def test_what_does_not_fit() -> None:
    x, w = relay.var("x", shape=(3, 5)), relay.var("w", shape=(2, 5, 8))
    thin = relay.var("w", shape=(2, 4, 8))
    for made, why in ((relay.nn.contrib_dense_pack(x, w, units=15), "units 15"),
                      (relay.nn.contrib_dense_pack(x, thin), "does not fit")):  # fmt: skip
        with pytest.raises(DiagnosticError, match=why):
            relay.transform.InferType()(tvm.IRModule.from_expr(made))
