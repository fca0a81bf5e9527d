from __future__ import annotations

import numpy as np
import pytest

from tvm.error import TVMError
from tvm.script import tir as T
from tvm.tir import interp

pytestmark = pytest.mark.pure


def test_threads_without_barriers() -> None:
    @T.prim_func
    def func(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        for bx in T.thread_binding(4, "blockIdx.x"):
            for tx in T.thread_binding(16, "threadIdx.x"):
                b[bx * 16 + tx] = a[bx * 16 + tx] + T.float32(1)

    a, b = np.arange(64, dtype="float32"), np.zeros(64, "float32")
    interp.run(func, a, b)
    np.testing.assert_array_equal(b, a + 1)


def test_barriers_keep_threads_in_step() -> None:
    @T.prim_func
    def func(a: T.Buffer((16,), "float32"), b: T.Buffer((16,), "float32")):
        for bx in T.thread_binding(2, "blockIdx.x"):
            with T.block("block"):
                shared = T.alloc_buffer((8,), "float32", scope="shared")
                for tx in T.thread_binding(8, "threadIdx.x"):
                    shared[tx] = a[bx * 8 + tx]
                    T.evaluate(T.tvm_storage_sync("shared"))
                    b[bx * 8 + tx] = shared[7 - tx]

    a, b = np.arange(16, dtype="float32"), np.zeros(16, "float32")
    interp.run(func, a, b)
    np.testing.assert_array_equal(b, a.reshape(2, 8)[:, ::-1].reshape(-1))


def test_barrier_that_not_all_reach() -> None:
    @T.prim_func
    def func(b: T.Buffer((8,), "float32")):
        for tx in T.thread_binding(8, "threadIdx.x"):
            if tx < 4:
                T.evaluate(T.tvm_storage_sync("shared"))
            b[tx] = T.float32(1)

    with pytest.raises(TVMError, match=r"4 of 8 threads ended"):
        interp.run(func, np.zeros(8, "float32"))


def test_error_in_a_thread_reaches_the_caller() -> None:
    @T.prim_func
    def func(b: T.Buffer((8,), "float32")):
        for tx in T.thread_binding(8, "threadIdx.x"):
            T.evaluate(T.tvm_storage_sync("shared"))
            b[tx + 4] = T.float32(1)

    with pytest.raises(IndexError, match=r"index 8"):
        interp.run(func, np.zeros(8, "float32"))


def test_memory_of_threads_that_is_allocated_around_them() -> None:
    @T.prim_func
    def func(b: T.Buffer((8,), "int32")):
        bx = T.launch_thread("blockIdx.x", 1)
        own = T.decl_buffer((1,), "int32", scope="local")
        tx = T.launch_thread("threadIdx.x", 8)
        own[0] = tx
        T.tvm_storage_sync("shared")
        b[tx] = own[0]

    b = np.zeros(8, "int32")
    interp.run(func, b)
    np.testing.assert_array_equal(b, np.arange(8))


def test_barriers_of_a_warp_let_the_others_go_on() -> None:
    @T.prim_func
    def func(b: T.Buffer((8,), "int32")):
        tx = T.launch_thread("threadIdx.x", 8)
        shared = T.decl_buffer((8,), "int32", scope="shared")
        shared[tx] = tx
        T.tvm_storage_sync("shared")
        if tx < 4:
            other: T.int32 = shared[tx + 1]
            T.tvm_storage_sync("warp")
            shared[tx] = other
        T.tvm_storage_sync("shared")
        b[tx] = shared[tx]

    b = np.zeros(8, "int32")
    interp.run(func, b)
    np.testing.assert_array_equal(b, [1, 2, 3, 4, 4, 5, 6, 7])
