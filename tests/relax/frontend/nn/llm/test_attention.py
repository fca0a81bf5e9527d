"""Attention of one row in one pass, and how its keys are found."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tvm import tir
from tvm.relax.frontend.nn.llm.attention import Row, attend, with_sequence_of
from tvm.tir import interp
from tvm.topi.kernel import Kernel
from tvm.topi.loops import store

pytestmark = pytest.mark.pure


def attended(q: Any, k: Any, v: Any, seen: Any, lanes: int = 1) -> tuple[Any, float]:
    kernel = Kernel("one_row")
    n, dim, value_dim = kernel.size("n"), q.shape[0], v.shape[1]
    query = kernel.buffer("q", (dim,), "float32")
    keys = kernel.buffer("k", (n, dim), "float32")
    values = kernel.buffer("v", (n, value_dim), "float32")
    visible = kernel.buffer("seen", (n,), "bool")
    out, lse = kernel.buffer("out", (value_dim,), "float32"), kernel.buffer("lse", (1,), "float32")
    row = Row(lambda d: query[d], lambda j, d: keys[j, d], lambda j, d: values[j, d],
              None, lambda j: visible[j], n, dim, value_dim, tir.const(0.5, "float32"))  # fmt: skip
    func = kernel.func(
        attend(row, lambda d, x: store(out, x, d), lambda x: store(lse, x, 0), lanes)
    )
    found, logarithm = np.zeros(value_dim, "float32"), np.zeros(1, "float32")
    interp.run(func, q, k, v, np.array(seen), found, logarithm)
    return found, float(logarithm[0])


@pytest.mark.parametrize("lanes", [1, 2, 16])
def test_one_pass_is_softmax(lanes: int) -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal(s).astype("float32") * 3 for s in ((4,), (6, 4), (6, 3)))
    seen = np.array([True, False, True, True, False, True])
    scores = (k @ q * 0.5)[seen]
    power = np.exp(scores - scores.max())
    found, lse = attended(q, k, v, seen, lanes)
    np.testing.assert_allclose(found, power / power.sum() @ v[seen], rtol=1e-4)
    assert lse == pytest.approx((math.log(power.sum()) + scores.max()) * math.log2(math.e), 1e-4)


def test_a_row_that_sees_nothing_weighs_nothing() -> None:
    ones = np.ones((2, 3), "float32")
    found, lse = attended(ones[0], ones, ones, [False, False])
    assert not found.any()
    assert lse == -5e4


def test_the_sequence_of_a_row() -> None:
    kernel = Kernel("owners")
    indptr, n = kernel.indices("indptr", kernel.size("m")), kernel.size("n")
    owner = kernel.indices("owner", n)
    func = kernel.func(
        kernel.rows((n,), lambda i: with_sequence_of(indptr, i, lambda b: store(owner, b, i)))
    )
    found = np.zeros(5, "int32")
    interp.run(func, np.int32([0, 2, 2, 5]), found)
    assert found.tolist() == [0, 0, 2, 2, 2]  # the second sequence is empty
