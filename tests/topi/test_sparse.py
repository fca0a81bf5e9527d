"""Products with sparse matrices whose tensors are placeholders, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.topi.numerics import rng
from tvm import te, topi
from tvm.contrib import sparse
from tvm.error import ShapeError

pytestmark = pytest.mark.cpu
MATRIX = (rng(1).random((5, 7)) * (rng(2).random((5, 7)) < 0.4)).astype("float32")
MATRIX[2] = 0


def result(op: Any, shape: Any, *dense: Any) -> Any:
    """`op(sparse placeholder, *placeholders)` of MATRIX and arrays; how many numbers is open."""
    given = sparse.placeholder(MATRIX.shape, nonzeros=te.size_var("count"), name="A")
    others = [te.placeholder(d.shape, str(d.dtype), f"d{k}") for k, d in enumerate(dense)]
    made = op(given, *others)
    assert [int(e) for e in made.shape] == list(shape)
    tensors = [given.data, given.indices, given.indptr, *others, made]
    kernel = tvm.compile(te.create_prim_func(tensors), "llvm")
    have = sparse.array(MATRIX)
    out = tvm.runtime.empty(shape, "float32")
    kernel(have.data, have.indices, have.indptr, *[tvm.runtime.tensor(d) for d in dense], out)
    return out.numpy()


@pytest.mark.parametrize("bias", [False, True])
def test_products(bias: bool) -> None:
    wide, rows = rng(3).random((7, 3)).astype("float32"), rng(4).random(5).astype("float32")
    more, plus = ([rows], rows[:, None]) if bias else ([], 0)
    found = result(topi.sparse.csrmm, (5, 3), wide, *more)
    np.testing.assert_allclose(found, MATRIX @ wide + plus, rtol=1e-5)
    column = wide[:, :1].copy()
    found = result(topi.sparse.csrmv, (5, 1), column, *more)
    np.testing.assert_allclose(found, MATRIX @ column + plus, rtol=1e-5)


def test_dense_layers() -> None:
    weight, bias = rng(5).random((4, 7)).astype("float32"), rng(6).random(4).astype("float32")
    found = result(topi.sparse.dense, (5, 4), weight, bias)
    np.testing.assert_allclose(found, MATRIX @ weight.T + bias, rtol=1e-5)
    data, rows = rng(7).random((3, 7)).astype("float32"), rng(8).random(5).astype("float32")
    found = result(lambda w, d, b: topi.sparse.dense(d, w, b), (3, 5), data, rows)
    np.testing.assert_allclose(found, data @ MATRIX.T + rows, rtol=1e-5)


def test_what_does_not_fit() -> None:
    full, given = te.placeholder((4, 7)), sparse.placeholder((5, 7), nonzeros=3)
    with pytest.raises(TypeError, match="a Tensor"):
        topi.sparse.csrmm(full, full)
    with pytest.raises(TypeError, match=r"dense: the sparse matrix"):
        topi.sparse.dense(full, full)
    with pytest.raises(ShapeError, match=r"legal: \(k, 1\)"):
        topi.sparse.csrmv(given, te.placeholder((7, 2)))
    with pytest.raises(ShapeError, match="2 dimensions"):
        topi.sparse.dense(full, given, te.placeholder((4, 5)))
