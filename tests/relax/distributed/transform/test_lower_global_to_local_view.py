"""LowerGlobalViewToLocalView: each worker calls kernels with its own pieces."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax.distributed.transform import LowerGlobalViewToLocalView
from tvm.tir import interp

from .programs import Local, Placed

pytestmark = pytest.mark.pure


def test_kernels_on_pieces() -> None:
    after = LowerGlobalViewToLocalView()(Placed)
    tvm.ir.assert_structural_equal(after, Local)
    assert relax.analysis.well_formed(after)


def test_the_pieces_make_the_whole() -> None:
    after = LowerGlobalViewToLocalView()(Placed)
    rng = np.random.default_rng(0)
    x, w1, w2 = (rng.uniform(-1, 1, (8, 8)).astype("float32") for _ in range(3))
    total = np.zeros((8, 8), "float32")
    for worker in range(2):
        mine = slice(4 * worker, 4 * worker + 4)
        a, c = np.zeros((8, 4), "float32"), np.zeros((8, 8), "float32")
        interp.run(after, x, np.ascontiguousarray(w1[:, mine]), a, name="matmul1")
        interp.run(after, a, np.ascontiguousarray(w2[mine]), c, name="matmul2")
        total += c
    np.testing.assert_allclose(total, x @ w1 @ w2, rtol=1e-4, atol=1e-5)
