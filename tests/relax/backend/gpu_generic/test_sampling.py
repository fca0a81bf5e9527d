from __future__ import annotations

import numpy as np
import pytest

from tvm.relax.backend.gpu_generic import generic_get_sample_index, gpu_multinomial_from_uniform
from tvm.tir.interp import run

pytestmark = pytest.mark.pure


def expected(prob: np.ndarray, uniform: np.ndarray, rows: np.ndarray) -> np.ndarray:
    sums = prob.cumsum(1)[rows[:, 0]]
    found = sums > uniform
    last = prob.shape[1] - 1
    return np.where(found.any(1), found.argmax(1), last)[:, None].astype("int64")


@pytest.mark.parametrize("classes", [1, 5, 37])
def test_draws(classes: int) -> None:
    rng = np.random.default_rng(classes)
    prob = rng.random((3, classes)).astype("float32")
    prob /= prob.sum(1, keepdims=True)
    uniform = rng.random((12, 1)).astype("float32")
    rows = rng.integers(0, 3, (12, 1))
    wanted = expected(prob, uniform, rows)
    out = np.full((12, 1), -1, "int64")
    run(gpu_multinomial_from_uniform(ty_len=2, tx_len=4, thread_elem=2), prob, uniform, rows, out)
    np.testing.assert_array_equal(out, wanted)
    out[...] = -1
    run(generic_get_sample_index(), prob.cumsum(1), uniform, rows, out)
    np.testing.assert_array_equal(out, wanted)


def test_edges() -> None:
    """Zero takes the first class that can be; a number that nothing exceeds takes the last."""
    prob = np.array([[0, 0.25, 0, 0.75], [0.5, 0.25, 0.125, 0.125]], "float32")
    uniform = np.array([[0], [1], [0.9999999]], "float32")
    rows = np.array([[0], [1], [1]])
    out = np.full((3, 1), -1, "int64")
    run(gpu_multinomial_from_uniform(ty_len=1, tx_len=2, thread_elem=1), prob, uniform, rows, out)
    np.testing.assert_array_equal(out, [[1], [3], [3]])
