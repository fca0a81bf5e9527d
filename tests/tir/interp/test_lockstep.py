from __future__ import annotations

import numpy as np
import pytest

from tvm.script import tir as T
from tvm.tir import interp

pytestmark = pytest.mark.pure


def test_statements_are_run_by_all_threads_one_after_the_other() -> None:
    @T.prim_func
    def func(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32")):
        tx = T.launch_thread("threadIdx.x", 8)
        S = T.allocate([8], "float32", "shared")
        s = T.Buffer((8,), "float32", data=S, scope="shared")
        s[tx] = a[tx]
        b[tx] = s[7 - tx]

    a, b = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    interp.run(func, a, b)
    np.testing.assert_array_equal(b, a[::-1])


def test_iterations_keep_in_step() -> None:
    @T.prim_func
    def func(a: T.Buffer((8,), "int32"), b: T.Buffer((8,), "int32")):
        # a sum over all places before this one, by doubling
        tx = T.launch_thread("threadIdx.x", 8)
        S = T.allocate([16], "int32", "shared")
        s = T.Buffer((16,), "int32", data=S, scope="shared")
        s[tx] = a[tx]
        for i in range(3):
            s[8 + tx] = s[tx]
            if tx >= T.shift_left(1, i):
                s[tx] = s[tx] + s[8 + tx - T.shift_left(1, i)]
        b[tx] = s[tx]

    a, b = np.arange(1, 9, dtype="int32"), np.zeros(8, "int32")
    interp.run(func, a, b)
    np.testing.assert_array_equal(b, np.cumsum(a))


def test_threads_that_part_meet_again() -> None:
    @T.prim_func
    def func(a: T.Buffer((8,), "int32"), b: T.Buffer((8,), "int32")):
        tx = T.launch_thread("threadIdx.x", 8)
        S = T.allocate([8], "int32", "shared")
        s = T.Buffer((8,), "int32", data=S, scope="shared")
        if tx < 4:
            s[tx] = a[tx]
            s[tx + 4] = a[tx + 4]
        for i in range(tx):
            s[tx] = s[tx] + 1
        b[tx] = s[7 - tx]

    a, b = np.arange(8, dtype="int32"), np.zeros(8, "int32")
    interp.run(func, a, b)
    np.testing.assert_array_equal(b, (a + np.arange(8))[::-1])


def test_blocks_over_threads() -> None:
    @T.prim_func
    def func(a: T.Buffer((8,), "int32"), b: T.Buffer((8,), "int32")):
        for tx in T.thread_binding(8, "threadIdx.x"):
            with T.block("both"):
                v = T.axis.spatial(8, tx)
                s = T.alloc_buffer((8,), "int32", scope="shared")
                with T.block("copy"):
                    s[v] = a[v]
                with T.block("turn"):
                    b[v] = s[7 - v]

    a, b = np.arange(8, dtype="int32"), np.zeros(8, "int32")
    interp.run(func, a, b)
    np.testing.assert_array_equal(b, a[::-1])
