"""Kernels on constants, by the interpreter and natively."""

import numpy as np
import pytest

from tvm.relax.transform.kernel_runner import SMALL, KernelRunner
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


@T.prim_func
def split(x: T.handle, a: T.handle, b: T.handle):
    n = T.int64()
    X = T.match_buffer(x, (n,), "float32")
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "int32")
    for i in range(n):
        with T.block("split"):
            vi = T.axis.spatial(n, i)
            A[vi] = X[vi] * T.float32(2)
            B[vi] = T.Cast("int32", X[vi])


@pytest.mark.parametrize("size", [3, SMALL])
def test_results(size: int):
    x = np.arange(size, dtype="float32") + 0.5
    a, b = KernelRunner().run(split, [x], [((size,), "float32"), ((size,), "int32")])
    np.testing.assert_array_equal(a, x * 2)
    np.testing.assert_array_equal(b, np.arange(size, dtype="int32"))


def test_large_inputs_need_not_be_contiguous():
    x = np.arange(2 * SMALL, dtype="float32")[::2]
    a, _ = KernelRunner().run(split, [x], [((SMALL,), "float32"), ((SMALL,), "int32")])
    np.testing.assert_array_equal(a, x * 2)


@T.prim_func
def scaled(
    x: T.Buffer((SMALL,), "float32"),
    by: T.Buffer((), "float32"),
    a: T.Buffer((SMALL,), "float32"),
):
    for i in range(SMALL):
        with T.block("scaled"):
            vi = T.axis.spatial(SMALL, i)
            a[vi] = x[vi] * by[()]


def test_operands_without_axes_keep_having_none():
    x = np.arange(SMALL, dtype="float32")
    (a,) = KernelRunner().run(scaled, [x, np.array(3.0, "float32")], [((SMALL,), "float32")])
    np.testing.assert_array_equal(a, x * 3)
