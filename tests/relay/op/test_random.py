"""Random numbers by keys: known words, independence of split keys, shapes of distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relay.run import value_of
from tvm import relay
from tvm.error import DiagnosticError

pytestmark = pytest.mark.pure
KEY = relay.random.threefry_key(0).data.numpy()
MASK = (1 << 64) - 1


def hashed(key: list[int], block: list[int]) -> list[int]:
    """Threefry 4x64 with 20 rounds on numbers of Python."""
    keys = [*key, 0x1BD11BDAA9FC1A22 ^ key[0] ^ key[1] ^ key[2] ^ key[3]]
    words = [(a + b) & MASK for a, b in zip(block, key)]
    turns = [(14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32)]
    for step in range(20):
        for (a, b), by in zip([(0, 1), (2, 3)] if step % 2 == 0 else [(0, 3), (2, 1)],
                              turns[step % 8]):  # fmt: skip
            words[a] = (words[a] + words[b]) & MASK
            words[b] = ((words[b] << by | words[b] >> (64 - by)) & MASK) ^ words[a]
        if step % 4 == 3:
            more = step // 4 + 1
            for k in range(4):
                extra = more if k == 3 else 0
                words[k] = (words[k] + keys[(more + k) % 5] + extra) & MASK
    return words


def generated(key: Any, shape: tuple[int, ...]) -> Any:
    return value_of(lambda k: relay.random.threefry_generate(k, shape), [key])[0]


def split(key: Any) -> Any:
    return value_of(lambda k: relay.random.threefry_split(k), [key])[0]


def test_words_are_hashes_of_a_counter() -> None:
    key = relay.random.threefry_key(7).data.numpy()
    after, words = generated(key, (2, 3))
    wanted = [w for n in (0, 1) for w in hashed([0, 0, 0, 7], [0, 0, 0, n])]
    assert words.reshape(-1).tolist() == wanted[:6]
    assert after.tolist() == [0, 0, 0, 7, 0, 0, 0, 2, 1 << 63, 0]


def test_known_answer() -> None:
    """Of the paper: zeros under a key of zeros."""
    assert hashed([0] * 4, [0] * 4)[0] == 0x09218EBDE6C85537
    assert int(generated(KEY, (4,))[1][0]) == 0x09218EBDE6C85537


def test_what_follows_goes_on() -> None:
    after, first = generated(KEY, (8,))
    _, second = generated(after, (4,))
    _, whole = generated(KEY, (12,))
    np.testing.assert_array_equal(np.append(first, second), whole)


def test_split_keys_have_words_of_their_own() -> None:
    left, right = split(KEY)
    inner, _ = split(left)
    words = [set(generated(k, (16,))[1].tolist()) for k in (left, right, inner)]
    assert not words[0] & words[1]
    assert not words[1] & words[2]
    np.testing.assert_array_equal(split(KEY)[1], right)


def test_paths_that_have_no_room_are_hashed() -> None:
    full = KEY.copy()
    full[8:] = 0
    left, right = split(full)
    assert left[:4].tolist() == hashed([0] * 4, [0] * 4)
    assert left.tolist() != right.tolist()
    assert int(left[8]) == 1 << 62


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distributions(dtype: str) -> None:
    (_, found), kinds = value_of(
        lambda k: relay.random.uniform(k, (2000,), dtype, low=2.0, high=4.0), [KEY]
    )
    assert kinds[1] == relay.TensorType((2000,), dtype)
    assert 2 <= found.min() < found.max() < 4
    assert abs(found.mean() - 3) < 0.05
    (_, found), _ = value_of(
        lambda k: relay.random.normal(k, (4000,), dtype, mean=5.0, scale=2.0), [KEY]
    )
    assert abs(found.mean() - 5) < 0.15
    assert abs(found.std() - 2) < 0.15


def test_places_by_weight() -> None:
    weights = np.array([[1, 0, 3], [0, 2, 0]], "float32")
    (_, found), _ = value_of(
        lambda k, p: relay.random.multinomial(k, p, 800), [KEY, weights]
    )
    assert found.shape == (2, 800)
    assert set(found[1].tolist()) == {1}
    assert set(found[0].tolist()) == {0, 2}
    assert 0.7 < (found[0] == 2).mean() < 0.8


def test_what_is_no_key() -> None:
    with pytest.raises(DiagnosticError, match="the operand is no key"):
        value_of(lambda k: relay.random.threefry_generate(k, (4,)), [KEY[:4]])
    with pytest.raises(TypeError, match="random numbers of int32; legal: float32, float64"):
        relay.random.uniform(relay.random.threefry_key(1), (4,), "int32")


def test_pairs_are_expressions() -> None:
    """Scripts take them apart themselves."""
    key = relay.random.threefry_key(3)
    for pair in (
        relay.random.threefry_generate(key, (4,)), relay.random.threefry_split(key),
        relay.random.uniform(key, (4,)), relay.random.normal(key, (4,)),
        relay.nn.dropout_raw(relay.const([1.0])),
    ):  # fmt: skip
        assert isinstance(pair, relay.Call)
        first, second = relay.TupleWrapper(pair, 2)
        assert (first.index, second.index) == (0, 1)
        tvm.IRModule.from_expr(pair)
