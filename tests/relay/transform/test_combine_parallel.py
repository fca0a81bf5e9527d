"""Products of one operand, computed in one go."""

from __future__ import annotations

from typing import Any

import pytest

from tests.relay.transform.numbers import equal, module, ops, same_numbers
from tvm import relay
from tvm.relay import transform as t

pytestmark = pytest.mark.pure


def weights(name: str, shapes: list[tuple[int, ...]]) -> list[Any]:
    return [relay.var(f"{name}{at}", shape=shape) for at, shape in enumerate(shapes)]


def sliced(whole: Any, begins: list[list[int]], ends: list[list[int]]) -> Any:
    return relay.Tuple([
        relay.strided_slice(whole, b, e, [1] * len(b), slice_mode="size")
        for b, e in zip(begins, ends)
    ])  # fmt: skip


def test_convolutions_with_what_follows() -> None:
    x = relay.var("x", shape=(1, 4, 5, 5))
    w = weights("w", [(4, 4, 1, 1), (8, 4, 1, 1)])
    s = weights("s", [(4, 1, 1), (8, 1, 1)])
    body = relay.Tuple(
        [relay.nn.relu(relay.multiply(relay.nn.conv2d(x, a), b)) for a, b in zip(w, s)]
    )
    before = module(body, x, *w, *s)
    after = t.CombineParallelConv2D(min_num_branches=2)(before)
    whole = relay.nn.conv2d(x, relay.concatenate(w, 0), channels=12)
    whole = relay.nn.relu(relay.multiply(whole, relay.concatenate(s, 0)))
    equal(after, sliced(whole, [[0, 0], [0, 4]], [[-1, 4], [-1, 8]]), x, *w, *s)
    same_numbers(before, after)


def test_too_few_branches_stay() -> None:
    x = relay.var("x", shape=(1, 4, 5, 5))
    w = weights("w", [(4, 4, 1, 1), (8, 4, 1, 1)])
    before = module(relay.Tuple([relay.nn.conv2d(x, a) for a in w]), x, *w)
    equal(t.CombineParallelConv2D(3)(before), before["main"].body, x, *w)


def test_branches_that_depend_on_each_other_stay() -> None:
    x, w = relay.var("x", shape=(3, 3)), relay.var("w", shape=(3, 3))
    first = relay.nn.dense(x, w)
    before = module(relay.Tuple([first, relay.nn.dense(x, first)]), x, w)
    equal(t.CombineParallelDense(2)(before), before["main"].body, x, w)


def test_dense_as_a_batch() -> None:
    x = relay.var("x", shape=(3, 5))
    w, b = weights("w", [(4, 5)] * 2), weights("b", [(4,)] * 2)
    before = module(relay.Tuple([relay.nn.dense(x, a) + c for a, c in zip(w, b)]), x, *w, *b)
    after = t.CombineParallelDense(2)(before)
    assert ops(after).count("nn.batch_matmul") == 1
    assert "nn.dense" not in ops(after)
    assert ops(after)[-3:] == ["split", "squeeze", "squeeze"]
    same_numbers(before, after)


@pytest.mark.parametrize("to_batch", [True, False])
@pytest.mark.parametrize(
    "follow",
    [
        lambda y, b: relay.nn.relu(relay.nn.bias_add(y, b, axis=-1)),
        lambda y, b: relay.nn.bias_add(y, b, axis=1),
        lambda y, b: relay.nn.bias_add(relay.exp(y), relay.strided_slice(b, [0], [3]), axis=0),
        lambda y, b: relay.expand_dims(y, 1),
        lambda y, b: relay.broadcast_to(relay.clip(y, -1, 1), (2, 3, 4)),
        lambda y, b: relay.nn.prelu(y, b, axis=1),
    ],
)
def test_options_that_speak_of_axes(follow: Any, to_batch: bool) -> None:
    x = relay.var("x", shape=(3, 5))
    w, b = weights("w", [(4, 5)] * 3), weights("b", [(4,)] * 3)
    body = relay.Tuple([follow(relay.nn.dense(x, a), c) for a, c in zip(w, b)])
    before = module(body, x, *w, *b)
    after = t.CombineParallelDense(3, to_batch)(before)
    assert ops(after).count("nn.batch_matmul" if to_batch else "nn.dense") == 1
    same_numbers(before, after)


def test_dense_side_by_side() -> None:
    x = relay.var("x", shape=(3, 5))
    w, b = weights("w", [(4, 5), (2, 5)]), weights("b", [(4,), (2,)])
    before = module(relay.Tuple([relay.nn.dense(x, a) + c for a, c in zip(w, b)]), x, *w, *b)
    after = t.CombineParallelDense(2, to_batch=False)(before)
    whole = relay.nn.dense(x, relay.concatenate(w, 0), units=6) + relay.concatenate(b, 0)
    equal(after, sliced(whole, [[0, 0], [0, 4]], [[-1, 4], [-1, 2]]), x, *w, *b)
    same_numbers(before, after)


def test_batches_of_products() -> None:
    x = relay.var("x", shape=(2, 3, 5))
    w = weights("w", [(2, 4, 5), (2, 6, 5)])
    before = module(relay.Tuple([relay.nn.relu(relay.nn.batch_matmul(x, a)) for a in w]), x, *w)
    after = t.CombineParallelBatchMatmul(2)(before)
    whole = relay.nn.relu(relay.nn.batch_matmul(x, relay.concatenate(w, 1)))
    equal(after, sliced(whole, [[0, 0, 0], [0, 0, 4]], [[-1, -1, 4], [-1, -1, 6]]), x, *w)
    same_numbers(before, after)


def test_an_operator_by_name() -> None:
    x, w = relay.var("x", shape=(3, 5)), weights("w", [(4, 5)] * 3)
    before = module(relay.Tuple([relay.nn.dense(x, a) for a in w]), x, *w)
    after = t.CombineParallelOpBatch("nn.dense", "nn.batch_matmul", 3)(before)
    assert ops(after).count("nn.batch_matmul") == 1
    same_numbers(before, after)
