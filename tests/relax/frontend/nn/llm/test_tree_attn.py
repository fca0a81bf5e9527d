"""Trees of tokens: caches with the compiled kernels, and threads as cores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relax.frontend.nn.llm.compiled import kernels
from tests.runtime import test_kv_cache as scenarios
from tvm.relax.frontend.nn.llm import tree_attn
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
def test_a_path_of_a_tree(rope: int) -> None:
    scenarios.test_one_path_of_a_tree_stays(rope, [6, 2, 5])


def test_growing_trees() -> None:
    scenarios.test_a_tree_may_grow_before_a_path_is_chosen()


def test_threads_and_cores_agree() -> None:
    rng = np.random.default_rng(0)
    parts = [rng.standard_normal((4, n, 4)).astype("float32") for n in (2, 1, 1)]
    indptr, positions = np.int32([0, 4]), np.int32([0, 1, 1, 2])
    order = np.int32([[0, 7], [1, 4], [5, 6], [2, 3]])  # 0 above 1 and 2, 1 above 3
    results = []
    for func in (
        tree_attn.tree_attn_cpu(1, 2, 4, "float32", {}),
        tree_attn.tree_attn(1, 2, 4, "float32", {}, Target("cuda")),
    ):
        out = np.zeros((4, 2, 4), "float32")
        q, k, v = parts
        interp.run(func, q, indptr, k, v, indptr, positions, indptr, order, out,
                   np.zeros((4, 2), "float32"), 1, 1.0, 1e4, 0.5)  # fmt: skip
        results.append(out)
    np.testing.assert_allclose(*results, rtol=1e-5)
    np.testing.assert_allclose(results[0][0], np.repeat(parts[2][0], 2, 0), rtol=1e-5)
    paged = tree_attn.tree_attn_with_paged_kv_cache(1, 2, 4, "float32", {}, Target("cuda"))
    assert "threadIdx.x" in paged.script()
