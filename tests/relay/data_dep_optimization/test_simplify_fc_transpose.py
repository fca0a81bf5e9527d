"""Transposed weights are transposed with their values; what is computed stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relay.transform.numbers import equal, module, results
from tvm import relay
from tvm.relay.data_dep_optimization import simplify_fc_transpose

pytestmark = pytest.mark.pure
RNG = np.random.default_rng(3)
X = relay.var("x", shape=(2, 4))
W, V = relay.var("w", shape=(4, 3)), relay.var("v", shape=(3, 5))
dense, turned = relay.nn.dense, lambda x: relay.transpose(x, [1, 0])


def values(mod: Any) -> dict[str, Any]:
    return {
        param.name_hint: RNG.uniform(-1, 1, param.checked_type.concrete_shape).astype("float32")
        for param in mod["main"].params
    }


def changed(before: Any) -> Any:
    """The module after the change; with parameters by name it computes the same."""
    given = values(before)
    params = {name: tvm.runtime.tensor(v) for name, v in given.items() if name != "x"}
    func, made = simplify_fc_transpose.convert(before["main"], params)
    after = relay.transform.InferType()(tvm.IRModule.from_expr(func))
    own = {name: array.numpy() for name, array in made.items()} | {"x": given["x"]}
    assert set(own) == {param.name_hint for param in func.params} | {"x"}
    inputs = [own[param.name_hint] for param in func.params]
    np.testing.assert_allclose(
        results(after, inputs)[0], results(before, list(given.values()))[0], rtol=1e-5, atol=1e-6
    )
    return after


def test_weights_are_turned() -> None:
    after = changed(module(dense(relay.nn.relu(dense(X, turned(W))), turned(V)), X, W, V))
    w, v = relay.var("w.T", shape=(3, 4)), relay.var("v.T", shape=(5, 3))
    equal(after, dense(relay.nn.relu(dense(X, w)), v), X, w, v)
    assert [param.name_hint for param in after["main"].params] == ["x", "w.T", "v.T"]


def test_weights_with_other_uses_stay_beside() -> None:
    body = relay.add(dense(X, turned(W)), relay.sum(W))
    after = changed(module(relay.add(body, dense(X, turned(W))), X, W))
    w = relay.var("w.T", shape=(3, 4))
    body = relay.add(dense(X, w), relay.sum(W))
    equal(after, relay.add(body, dense(X, w)), X, W, w)


def test_others_are_left_alone() -> None:
    before = module(dense(X, turned(relay.exp(W))), X, W)
    assert relay.transform.SimplifyFCTranspose(["w"])(before)["main"] == before["main"]
    before = module(dense(X, turned(W)), X, W)
    assert relay.transform.SimplifyFCTranspose(["other"])(before)["main"] == before["main"]
    func, made = simplify_fc_transpose.convert(before["main"], {})
    assert made == {}
    assert [param.name_hint for param in func.params] == ["x", "w"]
