"""Caches with the compiled kernels do what they do with numpy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relax.frontend.nn.llm.compiled import kernels
from tests.runtime import attention_kernels as reference
from tests.runtime import test_kv_cache as scenarios
from tvm import tir
from tvm.relax.frontend.nn.llm import kv_cache
from tvm.target import Target
from tvm.tir import interp

pytestmark = pytest.mark.cpu
_with_numpy = scenarios._create


@pytest.fixture(autouse=True)
def _compiled_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    def create(rope: int = 0, sliding: bool = False, page: int = 4, **changed: Any) -> Any:
        return _with_numpy(rope, sliding, page, **{**kernels(page), **changed})

    monkeypatch.setattr(scenarios, "_create", create)


@pytest.mark.parametrize("rope", [0, 1, 2])
def test_sequences_grow_fork_and_shrink(rope: int) -> None:
    scenarios.test_prompts_and_steps_of_several_sequences(rope, 4)
    scenarios.test_forks_share_pages_and_go_their_own_ways(rope)
    scenarios.test_popped_tokens_are_replaced_and_shared_pages_are_kept(rope)


@pytest.mark.parametrize("rope", [0, 2])
@pytest.mark.parametrize("sinks", [0, 3])
def test_windows(rope: int, sinks: int) -> None:
    scenarios.test_a_window_keeps_the_sinks_and_the_last_tokens(rope, sinks)


def test_windows_of_layers() -> None:
    scenarios.test_layers_may_have_a_window_of_their_own()


def test_attentions_are_merged() -> None:
    scenarios.test_the_parts_of_an_attention_one_by_one()


class _Array:
    """An array that numpy's kernels can write."""

    def __init__(self, array: Any) -> None:
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def numpy(self) -> Any:
        return self.array

    def copyfrom(self, other: Any) -> None:
        self.array[...] = other


@pytest.mark.parametrize("inline", [0, 1])
def test_rows_on_threads(inline: int) -> None:
    rng = np.random.default_rng(0)
    func = kv_cache._attention_prefill(2, 4, 8, "float32", False, {}, Target("cuda"), page_size=2)
    assert "threadIdx.x" in func.script()
    pages = rng.standard_normal((4, 2, 2, 2, 8)).astype("float32")
    q = rng.standard_normal((3, 4, 8)).astype("float32")
    table = [np.int32([0, 2, 3]), np.int32([3, 1, 0]), np.int32([1, 2])]  # pages, last lengths
    places = [np.int32([0, 1]), np.int32([2, 3, 2])]
    indptr, rest = np.int32([0, 2, 3]), (0, inline, 1.0, 1e4, 0.3)
    found = [np.zeros((3, 4, 8), "float32"), np.zeros((3, 4), "float32")]
    interp.run(func, q, indptr, pages, *table, *places, *found, *rest)
    wanted = [np.zeros_like(array) for array in found]
    reference.prefill(*map(_Array, (q, indptr, pages, *table, *places, *wanted)), *rest)
    for got, good in zip(found, wanted):
        np.testing.assert_allclose(got, good, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("causal", [0, 1])
def test_the_end_of_a_sequence_sees_what_is_before_it(causal: int) -> None:
    rng = np.random.default_rng(0)
    func = kv_cache._attention_prefill_cpu(1, 1, 4, "float32", False, {}, 4)
    pages = rng.standard_normal((1, 2, 1, 4, 4)).astype("float32")
    q, found = rng.standard_normal((2, 1, 4)).astype("float32"), np.zeros((2, 1, 4), "float32")
    interp.run(
        func, q, np.int32([0, 2]), pages, np.int32([0, 1]), np.int32([0]), np.int32([3]),
        np.int32([0]), np.int32([1, 2]), found, np.zeros((2, 1), "float32"), causal, 0, 1.0, 1e4,
        1.0,
    )  # fmt: skip
    k, v = pages[0, 0, 0, :3, None], pages[0, 1, 0, :3, None]
    visible = np.array([[True, True, not causal], [True, True, True]])
    np.testing.assert_allclose(
        found, reference.attend(q, k, v, 1.0, visible)[0], rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("causal", [0, 1])
def test_compressed_keys(causal: int) -> None:
    rng = np.random.default_rng(0)
    func = kv_cache._attention_prefill_mla(2, 4, 2, "float32", False, Target("llvm"), 2)
    pages = rng.standard_normal((3, 2, 6)).astype("float32")
    q, found = rng.standard_normal((2, 2, 6)).astype("float32"), np.zeros((2, 2, 4), "float32")
    interp.run(func, q, np.int32([0, 2]), pages, np.int32([0, 2]), np.int32([2, 0]), np.int32([1]),
               found, np.zeros((2, 2), "float32"), causal, 0.4)  # fmt: skip
    keys = pages[[2, 0]].reshape(4, 1, 6)[:3]
    visible = np.array([[True, True, not causal], [True, True, True]])
    wanted = reference.attend(q, keys, keys[..., :4], 0.4, visible)[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_values_may_be_shorter_than_keys() -> None:
    rng = np.random.default_rng(0)
    func: tir.PrimFunc = kv_cache._attention_prefill_ragged_cpu(1, 2, 6, 3, "float32", {})
    q, k, v = (
        rng.standard_normal(s).astype("float32") for s in ((3, 2, 6), (3, 1, 6), (3, 1, 3))
    )
    found, indptr = np.zeros((3, 2, 3), "float32"), np.int32([0, 3])
    interp.run(func, q, indptr, k, v, indptr, np.int32([0, 1, 2]), np.int32([0]), found,
               np.zeros((3, 2), "float32"), 1, 0, 1.0, 1e4, 0.5)  # fmt: skip
    wanted = reference.attend(q, k, v, 0.5, np.tri(3, dtype=bool))[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("causal", "target"), [(0, "llvm"), (1, "llvm"), (1, "cuda")])
def test_sequences_of_one_length(causal: int, target: str) -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((2, n, h, 4)).astype("float32")
               for n, h in ((2, 4), (3, 2), (3, 2)))  # fmt: skip
    found, lse = np.zeros_like(q), np.zeros((2, 2, 4), "float32")
    func = kv_cache._attention_sequence_prefill(2, 4, 4, "float32", Target(target), causal, 0.5)
    interp.run(func, q, k, v, found, lse)
    visible = np.array([[True, True, not causal], [True, True, True]])
    for b in range(2):
        wanted, sums = reference.attend(q[b], k[b], v[b], 0.5, visible)
        np.testing.assert_allclose(found[b], wanted, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(lse[b], sums, rtol=1e-4, atol=1e-5)


def test_what_pads_a_batch_takes_no_part() -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((2, 3, h, 4)).astype("float32") for h in (2, 1, 1))
    found, lse = np.ones_like(q), np.zeros((2, 3, 2), "float32")
    func = kv_cache._attention_sequence_prefill_with_mask(1, 2, 4, "float32", Target("llvm"), 0.5)
    interp.run(func, q, k, v, np.int32([2, 3]), found, lse)
    for b, n in enumerate((2, 3)):
        parts = (x[b, :n] for x in (q, k, v))
        wanted, _ = reference.attend(*parts, 0.5, np.ones((n, n), bool))
        np.testing.assert_allclose(found[b, :n], wanted, rtol=1e-4, atol=1e-5)
    assert not found[0, 2].any()
