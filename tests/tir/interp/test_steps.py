from __future__ import annotations

import numpy as np
import pytest

from tvm.error import TVMError
from tvm.ir import IRModule
from tvm.script import tir as T
from tvm.tir import interp

pytestmark = pytest.mark.pure


def test_threads_wait_within_loops_conditions_and_lets() -> None:
    @T.prim_func
    def func(a: T.Buffer((8,), "int32"), b: T.Buffer((8,), "int32")):
        tx = T.launch_thread("threadIdx.x", 8)
        S = T.allocate([8], "int32", "shared")
        s = T.Buffer((8,), "int32", data=S, scope="shared")
        s[tx] = a[tx]
        C = T.allocate([1], "int32", "local")
        i = T.Buffer((1,), "int32", data=C, scope="local")
        i[0] = 0
        while i[0] < 3:
            T.tvm_storage_sync("shared")
            with T.LetStmt(s[(tx + 1) % 8]) as other:
                T.tvm_storage_sync("shared")
                if i[0] % 2 == 0:
                    s[tx] = other
                    T.tvm_storage_sync("shared")
                else:
                    T.tvm_storage_sync("shared")
                    s[tx] = other * 10
            i[0] = i[0] + 1
        b[tx] = s[tx]

    a, b = np.arange(8, dtype="int32"), np.zeros(8, "int32")
    interp.run(func, a, b)
    np.testing.assert_array_equal(b, np.roll(a, -3) * 10)


def test_conditions_and_bounds_of_what_the_others_give() -> None:
    @T.prim_func
    def func(a: T.Buffer((32,), "int32"), b: T.Buffer((32,), "int32")):
        tx = T.launch_thread("threadIdx.x", 32)
        if T.tvm_warp_shuffle(T.uint32(0xFFFFFFFF), a[tx], 31 - tx, 32, 32) > 15:
            b[tx] = 1
        for i in range(T.tvm_warp_shuffle(T.uint32(0xFFFFFFFF), a[tx], tx % 4, 32, 32)):
            b[tx] = b[tx] + 2

    a, b = np.arange(32, dtype="int32"), np.zeros(32, "int32")
    interp.run(func, a, b)
    places = np.arange(32)
    np.testing.assert_array_equal(b, (31 - places > 15) + 2 * (places % 4))


def test_two_exchanges_in_one_statement() -> None:
    @T.prim_func
    def func(a: T.Buffer((32,), "int32"), b: T.Buffer((32,), "int32")):
        tx = T.launch_thread("threadIdx.x", 32)
        full = T.uint32(0xFFFFFFFF)
        b[tx] = T.tvm_warp_shuffle(full, a[tx], 3, 32, 32) + T.tvm_warp_shuffle(
            full, T.tvm_warp_shuffle(full, a[tx], 31 - tx, 32, 32), 31 - tx, 32, 32
        )

    a, b = np.arange(32, dtype="int32"), np.zeros(32, "int32")
    interp.run(func, a, b)
    np.testing.assert_array_equal(b, a + 3)


def test_loops_are_left_behind_a_barrier() -> None:
    @T.prim_func
    def func(a: T.Buffer((8,), "int32"), b: T.Buffer((8,), "int32")):
        tx = T.launch_thread("threadIdx.x", 8)
        for i in range(5):
            T.tvm_storage_sync("shared")
            if i == 1:
                T.continue_loop()
            if i == 3:
                T.break_loop()
            b[tx] = b[tx] + a[i]

    a, b = np.arange(8, dtype="int32"), np.zeros(8, "int32")
    interp.run(func, a, b)
    np.testing.assert_array_equal(b, np.full(8, 2))


def test_threads_within_threads_wait_for_their_own() -> None:
    @T.prim_func
    def func(a: T.Buffer((4, 2), "int32"), b: T.Buffer((4, 2), "int32")):
        for tx in T.thread_binding(4, "threadIdx.x"):
            with T.block("both"):
                v = T.axis.spatial(4, tx)
                s = T.alloc_buffer((4, 2), "int32", scope="shared")
                for vt in T.thread_binding(2, "vthread.x"):
                    with T.block("copy"):
                        w = T.axis.spatial(2, vt)
                        s[v, w] = a[v, w]
                for vt in T.thread_binding(2, "vthread.x"):
                    with T.block("turn"):
                        w = T.axis.spatial(2, vt)
                        b[v, w] = s[3 - v, 1 - w]

    a, b = np.arange(8, dtype="int32").reshape(4, 2), np.zeros((4, 2), "int32")
    interp.run(func, a, b)
    np.testing.assert_array_equal(b, a[::-1, ::-1])


def test_a_function_that_waits_within_a_thread_is_refused() -> None:
    @T.prim_func(private=True)
    def wait(a: T.Buffer((8,), "int32")):
        T.evaluate(T.tvm_storage_sync("shared"))

    @T.prim_func
    def func(a: T.Buffer((8,), "int32")):
        tx = T.launch_thread("threadIdx.x", 8)
        a[tx] = tx
        T.tvm_storage_sync("shared")
        T.call_extern("void", "wait", a.data)

    mod = IRModule({"main": func, "wait": wait})
    with pytest.raises(TVMError, match="the function waits for the other threads"):
        interp.run(mod, np.zeros(8, "int32"))
