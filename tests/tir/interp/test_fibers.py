from __future__ import annotations

import numpy as np
import pytest

from tvm.script import tir as T
from tvm.tir import interp

pytestmark = pytest.mark.pure


def test_shared_memory_is_one_for_the_block() -> None:
    @T.prim_func
    def func(a: T.Buffer((16,), "float32"), b: T.Buffer((16,), "float32")):
        bx = T.launch_thread("blockIdx.x", 2)
        tx = T.launch_thread("threadIdx.x", 8)
        S = T.allocate([8], "float32", "shared")
        s = T.Buffer((8,), "float32", data=S, scope="shared")
        s[tx] = a[bx * 8 + tx]
        T.tvm_storage_sync("shared")
        b[bx * 8 + tx] = s[7 - tx]

    a, b = np.arange(16, dtype="float32"), np.zeros(16, "float32")
    interp.run(func, a, b)
    np.testing.assert_array_equal(b, a.reshape(2, 8)[:, ::-1].reshape(-1))


def test_local_memory_is_one_for_each_thread() -> None:
    @T.prim_func
    def func(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32")):
        tx = T.launch_thread("threadIdx.x", 8)
        L = T.allocate([1], "float32", "local")
        mine = T.Buffer((1,), "float32", data=L, scope="local")
        mine[0] = a[tx]
        T.tvm_storage_sync("shared")
        b[tx] = mine[0]

    a, b = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    interp.run(func, a, b)
    np.testing.assert_array_equal(b, a)


def test_memory_allocated_in_a_loop_is_fresh_each_time() -> None:
    @T.prim_func
    def func(a: T.Buffer((3, 4), "int32"), b: T.Buffer((3, 4), "int32")):
        tx = T.launch_thread("threadIdx.x", 4)
        for i in range(3):
            S = T.allocate([4], "int32", "shared")
            s = T.Buffer((4,), "int32", data=S, scope="shared")
            s[tx] = a[i, tx]
            T.tvm_storage_sync("shared")
            b[i, tx] = s[3 - tx]

    a, b = np.arange(12, dtype="int32").reshape(3, 4), np.zeros((3, 4), "int32")
    interp.run(func, a, b)
    np.testing.assert_array_equal(b, a[:, ::-1])


def test_warp_memory_is_one_for_each_warp() -> None:
    @T.prim_func
    def func(a: T.Buffer((64,), "int32"), b: T.Buffer((64,), "int32")):
        tx = T.launch_thread("threadIdx.x", 64)
        W = T.allocate([32], "int32", "warp")
        w = T.Buffer((32,), "int32", data=W, scope="warp")
        w[tx % 32] = a[tx]
        b[tx] = w[31 - tx % 32]

    a, b = np.arange(64, dtype="int32"), np.zeros(64, "int32")
    interp.run(func, a, b)
    np.testing.assert_array_equal(b, a.reshape(2, 32)[:, ::-1].reshape(-1))
