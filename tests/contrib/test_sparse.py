"""Sparse matrices as three tensors, and kernels over their numbers."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import te
from tvm.contrib import sparse

pytestmark = pytest.mark.cpu
MATRIX = np.array([[0, 2, 0, 3], [0, 0, 0, 0], [5, 0, 0, 7]], "float32")


def test_parts_of_a_matrix() -> None:
    made = sparse.array(MATRIX, tvm.cpu())
    assert (made.shape, made.dtype, made.stype) == ((3, 4), "float32", "csr")
    assert made.data.numpy().tolist() == [2, 3, 5, 7]
    assert made.indices.numpy().tolist() == [1, 3, 0, 3]
    assert made.indptr.numpy().tolist() == [0, 2, 2, 4]
    np.testing.assert_array_equal(made.numpy(), MATRIX)
    again = sparse.array((made.data, made.indices, made.indptr), shape=made.shape)
    np.testing.assert_array_equal(again.asnumpy(), MATRIX)
    empty = sparse.array(np.zeros((2, 3), "int32"))
    assert (empty.indptr.numpy().tolist(), empty.numpy().sum()) == ([0, 0, 0], 0)


def test_a_kernel_over_the_numbers() -> None:
    made = sparse.array(MATRIX)
    count = te.size_var("count")
    given = sparse.placeholder((3, 4), nonzeros=count, name="A")
    assert [t.op.name for t in (given.data, given.indices, given.indptr)] == [
        "A_data", "A_indices", "A_indptr",
    ]  # fmt: skip
    assert (given.indices.dtype, list(given.indptr.shape)) == ("int32", [4])
    twice = te.compute(given.data.shape, lambda i: given.data[i] * 2.0, name="twice")
    kernel = tvm.compile(te.create_prim_func([given.data, twice]), "llvm")
    out = tvm.runtime.empty(made.data.shape, made.dtype)
    kernel(made.data, out)
    found = sparse.array((out, made.indices, made.indptr), shape=made.shape)
    np.testing.assert_array_equal(found.numpy(), 2 * MATRIX)


def test_what_is_no_sparse_matrix() -> None:
    with pytest.raises(NotImplementedError, match="stype=coo"):
        sparse.array(MATRIX, stype="coo")
    with pytest.raises(NotImplementedError, match="stype=bsr"):
        sparse.placeholder((3, 4), stype="bsr")
    with pytest.raises(RuntimeError, match="list"):
        sparse.array(MATRIX.tolist())
    with pytest.raises(ValueError, match="3 dimensions"):
        sparse.array(np.zeros((1, 2, 3)))
    parts = sparse.array(MATRIX)
    with pytest.raises(ValueError, match="without a shape"):
        sparse.array((parts.data, parts.indices, parts.indptr))
