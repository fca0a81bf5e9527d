"""Sparse matrices against dense ones, and integers of few bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tests.relay.run import value_of
from tvm import relay
from tvm.error import DiagnosticError

pytestmark = pytest.mark.pure
RNG = np.random.default_rng(2)


def matrix(rows: int, columns: int, blocks: bool) -> Any:
    dense = RNG.uniform(-1, 1, (rows, columns)) * (RNG.uniform(0, 1, (rows, columns)) < 0.4)
    dense = dense.astype("float32")
    made = sparse.bsr_matrix(dense, blocksize=(2, 3)) if blocks else sparse.csr_matrix(dense)
    made.sort_indices()
    return made


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("lhs", [False, True])
def test_products(blocks: bool, lhs: bool) -> None:
    w, x = matrix(4, 6, blocks), RNG.uniform(-1, 1, (3, 6)).astype("float32")
    wanted = w.toarray() @ x.T if lhs else x @ w.toarray().T
    found, kind = value_of(lambda v: relay.nn.sparse_dense(v, w, sparse_lhs=lhs), [x])
    assert kind == relay.TensorType(wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    parts = [w.data, w.indices, w.indptr]
    found, _ = value_of(lambda v, *ps: relay.nn.sparse_dense(v, ps, lhs), [x, *parts])
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_sums_and_transposes() -> None:
    w, x = matrix(5, 5, False), RNG.uniform(-1, 1, (5, 5)).astype("float32")
    found, _ = value_of(lambda v: relay.nn.sparse_add(v, w), [x])
    np.testing.assert_allclose(found, x + w.toarray(), rtol=1e-6)
    parts, _ = value_of(lambda *ps: relay.nn.sparse_transpose(ps).astuple(),
                        [w.data, w.indices, w.indptr])  # fmt: skip
    again = sparse.csr_matrix(tuple(np.asarray(p) for p in parts), shape=(5, 5))
    np.testing.assert_array_equal(again.toarray(), w.toarray().T)


def test_entries_are_single_or_blocks() -> None:
    arrays = [np.ones((2, 2), "float32"), np.ones((2, 1), "float32"), np.zeros(2, "int32"),
              np.zeros(3, "int32")]  # fmt: skip
    with pytest.raises(DiagnosticError, match=r"neither single \(CSR\) nor blocks"):
        value_of(lambda x, *ps: relay.nn.sparse_dense(x, ps), arrays)


def test_few_bits() -> None:
    x = RNG.integers(0, 4, (2, 64)).astype("int16")
    w = RNG.integers(0, 2, (3, 64)).astype("int16")
    found, _ = value_of(
        lambda a, b: relay.nn.bitserial_dense(
            a, b, units=3, data_bits=2, weight_bits=1, out_dtype="int16", unipolar=False
        ),
        [x, w],
    )
    np.testing.assert_array_equal(found, x @ w.T)
    image = RNG.integers(0, 2, (1, 32, 4, 4)).astype("int16")
    kernel = RNG.integers(0, 2, (2, 32, 3, 3)).astype("int16")
    found, _ = value_of(
        lambda a, b: relay.nn.bitserial_conv2d(
            a, b, channels=2, kernel_size=(3, 3), out_dtype="int16", unipolar=False
        ),
        [image, kernel],
    )
    wanted = [
        [(image[0, :, i : i + 3, j : j + 3] * k).sum() for i in range(2) for j in range(2)]
        for k in kernel
    ]
    np.testing.assert_array_equal(found.reshape(2, 4), wanted)


def test_kernels_for_winograd() -> None:
    weight = RNG.uniform(-1, 1, (4, 3, 3, 3)).astype("float32")
    found, kind = value_of(
        lambda w: relay.nn.contrib_conv2d_winograd_weight_transform(w, 2), [weight]
    )
    assert kind == relay.TensorType((4, 4, 4, 3))
    g = np.array([[1, 0, 0], [0.5, -0.5, 0.5], [0.5, 0.5, 0.5], [0, 0, 1]])  # 0, -1, 1
    wanted = np.einsum("ax,oixy,by->aboi", g, weight, g)
    np.testing.assert_allclose(np.abs(found), np.abs(wanted), rtol=1e-4, atol=1e-5)
