"""Products of a BLAS library inside tensor expressions."""

from __future__ import annotations

import numpy as np
import pytest

from tvm import runtime, te
from tvm.contrib import cblas
from tvm.driver import compile


@pytest.mark.parametrize("transa", [False, True])
@pytest.mark.parametrize("transb", [False, True])
def test_matmul_then_add(transa: bool, transb: bool) -> None:
    n, k, m = 5, 7, 3
    a = te.placeholder((k, n) if transa else (n, k), name="a")
    b = te.placeholder((m, k) if transb else (k, m), name="b")
    bias = te.var("bias", "float32")
    product = cblas.matmul(a, b, transa, transb)
    out = te.compute((n, m), lambda i, j: product[i, j] + bias, name="out")
    func = compile(te.create_prim_func([a, b, out, bias]), target="llvm")["main"]
    rng = np.random.default_rng(0)
    x = rng.random([int(v) for v in a.shape], "float32")
    y = rng.random([int(v) for v in b.shape], "float32")
    result = runtime.empty((n, m), "float32")
    func(runtime.tensor(x), runtime.tensor(y), result, 10.0)
    wanted = (x.T if transa else x) @ (y.T if transb else y) + 10
    np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-5)


@pytest.mark.parametrize("batches", [(4, 4), (1, 4), (4, 1)])
@pytest.mark.parametrize("iterative", [False, True])
def test_batch_matmul(batches: tuple[int, int], iterative: bool) -> None:
    a = te.placeholder((batches[0], 5, 6), "float64", name="a")
    b = te.placeholder((batches[1], 3, 6), "float64", name="b")
    out = cblas.batch_matmul(a, b, transb=True, iterative=iterative, dtype="float64")
    assert [int(v) for v in out.shape] == [4, 5, 3]
    func = compile(te.create_prim_func([a, b, out]), target="llvm")["main"]
    rng = np.random.default_rng(1)
    x, y = rng.random((batches[0], 5, 6)), rng.random((batches[1], 3, 6))
    result = runtime.empty((4, 5, 3), "float64")
    func(runtime.tensor(x), runtime.tensor(y), result)
    np.testing.assert_allclose(result.numpy(), x @ y.swapaxes(1, 2))
