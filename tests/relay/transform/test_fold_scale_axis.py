"""Factors of channels in the weights of convolutions and dense layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relay.transform.numbers import RNG, equal, module, ops, same_numbers
from tvm import relay
from tvm.relay import transform as t

pytestmark = pytest.mark.pure


def positive(*shape: int) -> Any:
    return relay.const(RNG.uniform(0.5, 1, shape).astype("float32"))


def conv(x: Any, w: Any, channels: int, **options: Any) -> Any:
    return relay.nn.conv2d(
        x, w, channels=channels, kernel_size=(3, 3), padding=(1, 1), **options
    )


X = relay.var("x", shape=(2, 4, 6, 6))
W = relay.var("w", shape=(6, 4, 3, 3))
B = relay.var("b", shape=(4,))


def test_forward_folds_through_sums_and_relus() -> None:
    scale = positive(4, 1, 1)
    bias = relay.expand_dims(B, 1, 2)
    before = module(
        conv(relay.add(relay.nn.relu(relay.multiply(X, scale)), bias), W, 6), X, W, B
    )
    after = t.ForwardFoldScaleAxis()(before)
    vector = relay.squeeze(scale, [1, 2])
    bias = relay.divide(bias, relay.expand_dims(vector, 1, 2))
    weight = relay.multiply(W, relay.expand_dims(vector, 1, 2))
    equal(after, conv(relay.add(relay.nn.relu(X), bias), weight, 6), X, W, B)
    same_numbers(before, after)


def test_forward_keeps_what_may_be_negative_before_a_relu() -> None:
    scale = relay.const(np.array([1, -1, 2, 3], "float32").reshape(4, 1, 1))
    before = module(conv(relay.nn.relu(relay.multiply(X, scale)), W, 6), X, W)
    equal(t.ForwardFoldScaleAxis()(before), before["main"].body, X, W)


def test_forward_keeps_factors_that_others_see() -> None:
    scaled = relay.multiply(X, positive(4, 1, 1))
    before = module(relay.Tuple([conv(scaled, W, 6), scaled]), X, W)
    assert "multiply" in ops(t.ForwardFoldScaleAxis()(before))
    same_numbers(before, t.ForwardFoldScaleAxis()(before))


def test_forward_folds_into_blocked_and_depthwise_weights() -> None:
    w = relay.var("w", shape=(4, 1, 3, 3))
    scale = positive(4, 1, 1)
    before = module(conv(relay.multiply(X, scale), w, 4, groups=4), X, w)
    after = t.ForwardFoldScaleAxis()(before)
    assert ops(after).index("multiply") < ops(after).index("nn.conv2d")
    same_numbers(before, after)


def test_forward_folds_into_dense() -> None:
    x, w = relay.var("x", shape=(3, 4)), relay.var("w", shape=(5, 4))
    before = module(relay.nn.dense(relay.multiply(x, positive(4)), w), x, w)
    after = t.ForwardFoldScaleAxis()(before)
    assert ops(after) == ["multiply", "nn.dense"]
    assert after["main"].body.args[0] is after["main"].params[0]
    same_numbers(before, after)


def test_backward_folds_through_sums_and_relus() -> None:
    bias = relay.var("bias", shape=(6,))
    scale = positive(6, 1, 1)
    body = relay.nn.relu(relay.add(conv(X, W, 6), relay.expand_dims(bias, 1, 2)))
    before = module(relay.multiply(body, scale), X, W, bias)
    after = t.BackwardFoldScaleAxis()(before)
    vector = relay.squeeze(scale, [1, 2])
    wide = relay.multiply(relay.expand_dims(bias, 1, 2), relay.expand_dims(vector, 1, 2))
    weight = relay.multiply(W, relay.expand_dims(vector, 1, 3))
    equal(after, relay.nn.relu(relay.add(conv(X, weight, 6), wide)), X, W, bias)
    same_numbers(before, after)


def test_backward_folds_into_both_operands_of_a_sum() -> None:
    other = relay.var("other", shape=(6, 4, 3, 3))
    total = relay.add(conv(X, W, 6), conv(X, other, 6))
    before = module(relay.multiply(total, positive(6, 1, 1)), X, W, other)
    after = t.BackwardFoldScaleAxis()(before)
    assert ops(after)[-1] == "add"
    same_numbers(before, after)


def test_backward_folds_into_biases_and_dense() -> None:
    x, w, b = relay.var("x", shape=(3, 4)), relay.var("w", shape=(5, 4)), relay.var("b", shape=(5,))
    body = relay.nn.bias_add(relay.nn.dense(x, w), b)
    before = module(relay.multiply(body, positive(5)), x, w, b)
    after = t.BackwardFoldScaleAxis()(before)
    assert ops(after)[-1] == "nn.bias_add"
    same_numbers(before, after)


def test_backward_keeps_results_that_others_see() -> None:
    made = conv(X, W, 6)
    before = module(relay.Tuple([relay.multiply(made, positive(6, 1, 1)), made]), X, W)
    equal(t.BackwardFoldScaleAxis()(before), before["main"].body, X, W)


def test_the_whole_pass_leaves_constants() -> None:
    weight = relay.const(RNG.uniform(-1, 1, (6, 4, 3, 3)).astype("float32"))
    before = module(relay.multiply(conv(X, weight, 6), positive(6, 1, 1)), X)
    from tvm.ir.transform import PassContext

    with PassContext(opt_level=3):
        after = t.FoldScaleAxis()(before)
    assert ops(after) == ["nn.conv2d"]
    same_numbers(before, after)
