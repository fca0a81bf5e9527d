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
    """The four words of a block, in numbers of Python."""
    keys = [*key, 0x1BD11BDAA9FC1A22 ^ key[0] ^ key[1] ^ key[2] ^ key[3]]
    words = list(block)
    turns = [(14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32)]
    for step in range(20):
        if step % 4 == 0:
            more = step // 4
            for k in range(4):
                extra = more if k == 3 else 0
                words[k] = (words[k] + keys[(more + k) % 5] + extra) & MASK
        for (a, b), by in zip([(0, 1), (2, 3)] if step % 2 == 0 else [(0, 3), (2, 1)],
                              turns[step % 8]):  # fmt: skip
            words[a] = (words[a] + words[b]) & MASK
            turned = (words[b] << by | words[b] >> (64 - by)) & MASK
            words[b] = turned ^ (words[a] + words[b]) & MASK
    return words


def generated(key: Any, shape: tuple[int, ...]) -> Any:
    return value_of(lambda k: relay.random.threefry_generate(k, shape), [key])[0]


def split(key: Any) -> Any:
    return value_of(lambda k: relay.random.threefry_split(k), [key])[0]


def test_words_are_hashes_of_a_counter() -> None:
    key = relay.random.threefry_key(7).data.numpy()
    after, words = generated(key, (2, 4))
    wanted = [w for n in (0, 1) for w in hashed([7, 0, 0, 0], [n] * 4)]
    assert words.reshape(-1).tolist() == wanted
    assert after.tolist() == [7, 0, 0, 0, 0, 0, 0, 8, 1 << 63, 0]
    after, words = generated(key, (2, 3))  # what is left over counts on from the whole blocks
    wanted = hashed([7, 0, 0, 0], [0] * 4) + hashed([7, 0, 0, 0], [0, 0, 0, 4])[:2]
    assert words.reshape(-1).tolist() == wanted
    assert int(after[7]) == 8


def test_known_answer() -> None:
    """Of TVM v0.18, under the key of seed 0."""
    first, second = 10820750003516416782, 13975171154106464299
    assert hashed([0] * 4, [0] * 4)[:2] == [first, second]
    assert generated(KEY, (4,))[1][:2].tolist() == [first, second]
    (_, found), _ = value_of(lambda k: relay.random.uniform(k, (2,)), [KEY])
    np.testing.assert_allclose(found, [0.13633931, 0.98360014], rtol=1e-6)
    (_, found), _ = value_of(lambda k: relay.random.normal(k, (8,)), [KEY])
    np.testing.assert_allclose(found[:2], [-0.49628177, -1.7025416], rtol=1e-5)


def test_seeds_of_many_bits() -> None:
    assert relay.random.threefry_key(2**200 + 7).data.numpy()[:4].tolist() == [7, 0, 0, 256]


def test_what_follows_is_new() -> None:
    after, first = generated(KEY, (8,))
    _, second = generated(after, (4,))
    assert not set(first.tolist()) & set(second.tolist())


@pytest.mark.parametrize(
    ("bits", "path", "left"),
    [((1 << 63, 0), (1 << 63, 0), (1 << 62, 0)), ((1, 0), (1, 0), (0, 1 << 63)),
     ((4, 1), (4, 1), (2, 0))],
)  # fmt: skip
def test_counters_that_are_used_up(
    bits: tuple[int, int], path: tuple[int, int], left: tuple[int, int]
) -> None:
    """The path becomes longer, and the counter begins anew."""
    key = np.array([1, 2, 3, 4, 0, 0, 0, MASK - 3, *bits], "uint64")
    after, words = generated(key, (4,))
    assert after.tolist() == [1, 2, 3, 4, *path, 0, 4, *left]
    assert words.tolist() == hashed([1, 2, 3, 4], [*path, 0, 0])
    kept, _ = generated(key, (2,))
    assert kept.tolist()[4:6] == [0, 0]


def test_keys_that_are_used_up() -> None:
    key = np.array([1, 2, 3, 4, 5, 6, 0, MASK - 3, 0, 0], "uint64")
    after, words = generated(key, (4,))
    fresh = hashed([1, 2, 3, 4], [5, 6, MASK, MASK])
    assert after.tolist() == [*fresh, 0, 0, 0, 4, 1 << 63, 0]
    assert words.tolist() == hashed(fresh, [0] * 4)


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
