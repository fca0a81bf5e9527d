from __future__ import annotations

import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import InjectPTXAsyncCopy

pytestmark = pytest.mark.pure


class TestCopies(PassTest):
    run = InjectPTXAsyncCopy()
    same_results = False  # only a device can run cp.async

    @T.prim_func
    def Before(A: T.Buffer((1024,), "float16"), B: T.Buffer((1024,), "float32")) -> None:
        tx = T.launch_thread("threadIdx.x", 16)
        s = T.allocate([1024], "float16", "shared")
        S = T.decl_buffer((1024,), "float16", data=s, scope="shared")
        r = T.allocate([1024], "float32", "shared.dyn")
        R = T.decl_buffer((1024,), "float32", data=r, scope="shared.dyn")
        with T.attr(0, "async_commit_queue_scope", 0):
            with T.attr(0, "async_scope", 1):
                for i in range(8):
                    S[tx * 64 + i * 8 : tx * 64 + i * 8 + 8] = A[i * 8 : i * 8 + 8]
        with T.attr(0, "async_scope", 1):
            R[tx] = T.if_then_else(tx < 3, B[tx + 5], T.float32(0))
        with T.attr(0, "async_wait_queue_scope", 0):
            with T.attr(0, "async_wait_inflight_count", 0):
                B[tx] = R[tx] + T.Cast("float32", S[tx])

    @T.prim_func
    def Expected(A: T.Buffer((1024,), "float16"), B: T.Buffer((1024,), "float32")) -> None:
        tx = T.launch_thread("threadIdx.x", 16)
        s = T.allocate([1024], "float16", "shared")
        S = T.decl_buffer((1024,), "float16", data=s, scope="shared")
        r = T.allocate([1024], "float32", "shared.dyn")
        R = T.decl_buffer((1024,), "float32", data=r, scope="shared.dyn")
        with T.attr(0, "async_commit_queue_scope", 0):
            for i in range(8):
                T.ptx_cp_async("float16", S.data, tx * 64 + i * 8, A.data, i * 8, 16)
        T.ptx_cp_async("float32", R.data, tx, B.data, tx + 5, 4, tx < 3)
        with T.attr(0, "async_wait_queue_scope", 0):
            with T.attr(0, "async_wait_inflight_count", 0):
                B[tx] = R[tx] + T.Cast("float32", S[tx])


class TestOthersStay(PassTest):
    run = InjectPTXAsyncCopy()

    @T.prim_func
    def Before(A: T.Buffer((64,), "float16"), B: T.Buffer((64,), "float32")) -> None:
        tx = T.launch_thread("threadIdx.x", 16)
        s = T.allocate([64], "float16", "shared")
        S = T.decl_buffer((64,), "float16", data=s, scope="shared")
        r = T.allocate([64], "float32", "shared")
        R = T.decl_buffer((64,), "float32", data=r, scope="shared")
        with T.attr(0, "async_scope", 1):
            S[tx] = A[tx]  # two bytes
            R[tx] = B[tx] * T.float32(2)
            R[tx + 16] = T.if_then_else(tx < 3, B[tx], T.float32(1))
        R[tx + 32] = B[tx]
        B[tx] = R[tx] + R[tx + 32] + T.Cast("float32", S[tx])

    @T.prim_func
    def Expected(A: T.Buffer((64,), "float16"), B: T.Buffer((64,), "float32")) -> None:
        tx = T.launch_thread("threadIdx.x", 16)
        s = T.allocate([64], "float16", "shared")
        S = T.decl_buffer((64,), "float16", data=s, scope="shared")
        r = T.allocate([64], "float32", "shared")
        R = T.decl_buffer((64,), "float32", data=r, scope="shared")
        S[tx] = A[tx]
        R[tx] = B[tx] * T.float32(2)
        R[tx + 16] = T.if_then_else(tx < 3, B[tx], T.float32(1))
        R[tx + 32] = B[tx]
        B[tx] = R[tx] + R[tx + 32] + T.Cast("float32", S[tx])


def test_merged_memory_counts_bytes() -> None:
    @T.prim_func
    def merged(A: T.Buffer((64,), "float32")) -> None:
        tx = T.launch_thread("threadIdx.x", 16)
        s = T.allocate([256], "uint8", "shared.dyn")
        S = T.decl_buffer((64,), "float32", data=s, scope="shared.dyn")
        with T.attr(0, "async_scope", 1):
            S[tx] = A[tx]

    text = InjectPTXAsyncCopy()(IRModule({"main": merged})).script()
    assert 'T.ptx_cp_async("float32", s, tx * 4, A.data, tx, 4)' in text
