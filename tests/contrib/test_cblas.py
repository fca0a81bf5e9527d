"""Products of a BLAS library inside tensor expressions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import runtime, te
from tvm.contrib import cblas, cublas, cublaslt, dnnl, hipblas, mkl, mps, rocblas
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


@pytest.mark.parametrize(
    ("stage", "name"),
    [
        (mkl.matmul, "mkl.matmul"), (dnnl.matmul, "dnnl.matmul"), (cublas.matmul, "cublas.matmul"),
        (hipblas.matmul, "hipblas.matmul"), (mkl.matmul_u8s8s32, "mkl.matmul_u8s8s32"),
        (mps.matmul, "mps.matmul"), (rocblas.matmul, "rocblas.matmul"),
        (cublaslt.matmul, "cublaslt.matmul"),
    ],
)  # fmt: skip
def test_stages_of_other_libraries(stage: Any, name: str) -> None:
    a, b = te.placeholder((4, 5), name="a"), te.placeholder((3, 5), name="b")
    out = stage(a, b, transb=True)
    assert [int(v) for v in out.shape] == [4, 3]
    assert f'T.call_packed("tvm.contrib.{name}"' in te.create_prim_func([a, b, out]).script()
    x, y = te.placeholder((1, 4, 5)), te.placeholder((2, 5, 3))
    assert [int(v) for v in cublas.batch_matmul(x, y).shape] == [2, 4, 3]
    assert hipblas.batch_matmul(x, y).op.name == "batch_matmul_hipblas"
    assert (rocblas.matmul(a, b, transb=True).op.name, rocblas.batch_matmul(x, y).op.name) == (
        "C", "C",
    )  # fmt: skip
    told = cublaslt.matmul(a, b, transb=True, n=8, m=9, dtype="float16")
    assert ([int(v) for v in told.shape], str(told.dtype)) == ([8, 9], "float16")
