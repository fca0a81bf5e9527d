"""Moving keys and values, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from tvm.relax.frontend.nn.llm import kv_cache
from tvm.target import Target
from tvm.tir import interp

pytestmark = pytest.mark.pure
CPU = Target("llvm")


def pages(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype="float32").reshape(shape)


def test_rows_go_to_their_places() -> None:
    held, rows = pages(3, 2, 2, 4, 5), -pages(3, 2, 5) - 1
    wanted = held.copy()
    wanted[2, 0, :, 1], wanted[2, 1, :, 1] = rows[0], rows[0]
    wanted[0, 0, :, 3], wanted[0, 1, :, 3] = rows[2], rows[2]
    func = kv_cache._kv_cache_transpose_append(2, 5, "float32", page_size=4)
    interp.run(func, held, rows, rows, np.int32([9, -1, 3]))  # the second has no place
    assert (held == wanted).all()


def test_compressed_rows_go_to_their_places() -> None:
    held, rows = pages(3, 4, 6), -pages(2, 6) - 1
    wanted = held.copy()
    wanted[1, 2], wanted[0, 0] = rows
    func = kv_cache._kv_cache_transpose_append_mla(6, "float32", page_size=4)
    interp.run(func, held, rows, np.int32([6, 0]))
    assert (held == wanted).all()


def test_what_is_held_can_be_seen() -> None:
    held, k, v = pages(3, 2, 2, 4, 5), np.zeros((2, 2, 2, 5), "float32"), np.zeros(
        (2, 2, 2, 5), "float32"
    )
    func = kv_cache._kv_cache_debug_get_kv(2, 2, 5, "float32")
    interp.run(func, held, np.int32([9, 3]), k, v, 1)
    assert (k[1] == [held[2, 0, :, 1], held[0, 0, :, 3]]).all()
    assert (v[1] == [held[2, 1, :, 1], held[0, 1, :, 3]]).all()
    assert not k[0].any()
    flat, kv = pages(3, 4, 6), np.zeros((2, 1, 6), "float32")
    interp.run(kv_cache._kv_cache_debug_get_kv_mla(2, 6, "float32"), flat, np.int32([5]), kv, 0)
    assert (kv[0, 0] == flat[1, 1]).all()


@pytest.mark.parametrize("target", ["llvm", "cuda"])
def test_the_beginning_of_a_page_is_copied(target: str) -> None:
    held, wanted = pages(3, 2, 2, 4, 5), pages(3, 2, 2, 4, 5)
    wanted[2, :, :, :3] = wanted[0, :, :, :3]
    interp.run(kv_cache._copy_single_page(2, 4, 5, "float32", Target(target)), held, 0, 2, 3)
    assert (held == wanted).all()
    flat, wanted = pages(3, 4, 6), pages(3, 4, 6)
    wanted[1, :2] = wanted[2, :2]
    interp.run(kv_cache._copy_single_page_mla(4, 6, "float32", Target(target)), flat, 2, 1, 2)
    assert (flat == wanted).all()


def test_tokens_move_one_after_the_other() -> None:
    held, wanted = pages(2, 2, 1, 4, 3), pages(2, 2, 1, 4, 3)
    func = kv_cache._compact_kv_copy(1, 3, "float32", CPU, page_size=4)
    moves = np.int32([[2, 3, 6], [1, 2, 4]])  # the second reads where the first has read
    interp.run(func, held, np.int32([0, 2, 3]), moves, 2)
    for source, target in moves.T:
        wanted[target // 4, :, :, target % 4] = wanted[source // 4, :, :, source % 4]
    assert (held == wanted).all()


@pytest.mark.parametrize("target", ["llvm", "cuda"])
def test_attentions_are_weighed_by_their_sums(target: str) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((3, 2, 4)).astype("float32") for _ in range(2))
    s, t = (rng.standard_normal((3, 2)).astype("float32") for _ in range(2))
    sums = 2.0**s + 2.0**t
    wanted = (a * 2.0 ** s[..., None] + b * 2.0 ** t[..., None]) / sums[..., None]
    func = kv_cache._merge_state_inplace(2, 4, "float32", Target(target))
    interp.run(func, a, s, b, t)
    np.testing.assert_allclose(a, wanted, rtol=1e-5)
    np.testing.assert_allclose(s, np.log2(sums), rtol=1e-5)
