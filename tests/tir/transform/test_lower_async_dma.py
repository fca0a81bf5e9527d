from __future__ import annotations

import pytest

from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import LowerAsyncDMA

pytestmark = pytest.mark.pure


class TestCopyAndWait(PassTest):
    run = LowerAsyncDMA()
    same_results = False  # only a device has the engine

    @T.prim_func
    def Before(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")) -> None:
        s = T.allocate([128], "float32", "global")
        S = T.decl_buffer((128,), data=s)
        for k in range(8):
            with T.attr(0, "async_commit_queue_scope", 0):
                with T.attr(0, "async_scope", 1):
                    for i in range(128):
                        S[i] = A[k * 128 + i]
            with T.attr(0, "async_wait_queue_scope", 0):
                with T.attr(0, "async_wait_inflight_count", 2):
                    for i in range(128):
                        B[k * 128 + i] = S[i]

    @T.prim_func
    def Expected(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")) -> None:
        s = T.allocate([128], "float32", "global")
        S = T.decl_buffer((128,), data=s)
        for k in range(8):
            T.dma_start_group(0, dtype="int32")
            with T.attr(0, "async_commit_queue_scope", 0):
                T.attr(0, "async_scope", 1)
                T.dma_copy(0, T.address_of(S[0]), T.address_of(A[k * 128]), 512, 0, dtype="int32")
            T.dma_end_group(0, dtype="int32")
            T.dma_wait(0, 2, dtype="int32")
            for i in range(128):
                B[k * 128 + i] = S[i]


class TestGroup(PassTest):
    run = LowerAsyncDMA()
    same_results = False

    @T.prim_func
    def Before(A: T.Buffer((16,), "int8"), B: T.Buffer((32,), "int8")) -> None:
        with T.attr(0, "async_commit_queue_scope", 1):
            with T.attr(0, "async_scope", 1):
                for i in range(16):
                    B[i] = A[i]
            with T.attr(0, "async_scope", 1):
                for i in range(16):
                    B[i + 16] = A[i]

    @T.prim_func
    def Expected(A: T.Buffer((16,), "int8"), B: T.Buffer((32,), "int8")) -> None:
        T.dma_start_group(1, dtype="int32")
        with T.attr(0, "async_commit_queue_scope", 1):
            with T.attr(0, "async_scope", 1):
                T.dma_copy(1, T.address_of(B[0]), T.address_of(A[0]), 16, 0, dtype="int32")
            with T.attr(0, "async_scope", 1):
                T.dma_copy(1, T.address_of(B[16]), T.address_of(A[0]), 16, 0, dtype="int32")
        T.dma_end_group(1, dtype="int32")


class TestOthersStay(PassTest):
    run = LowerAsyncDMA()

    @T.prim_func
    def Before(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")) -> None:
        with T.attr(0, "async_commit_queue_scope", 0):
            with T.attr(0, "async_scope", 1):
                for i in range(8):
                    B[i * 2] = A[i]
        with T.attr(0, "async_wait_queue_scope", 0):
            with T.attr(0, "async_wait_inflight_count", 0):
                B[1] = B[0]
        for i in range(16):
            B[i] = A[i]

    Expected = Before
