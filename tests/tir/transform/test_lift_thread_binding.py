from __future__ import annotations

import pytest

import tvm
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import LiftThreadBinding

pytestmark = pytest.mark.pure


class TestSiblings(PassTest):
    run = LiftThreadBinding()

    @T.prim_func
    def Before(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        for b in T.thread_binding(4, thread="blockIdx.x"):
            with T.block(""):
                T.reads()
                T.writes()
                S = T.alloc_buffer((8,), "float32", scope="shared")
                for i in T.thread_binding(8, thread="threadIdx.x", annotations={"first": 1}):
                    S[i] = A[b * 8 + i]
                for j in T.thread_binding(8, thread="threadIdx.x", annotations={"second": 2}):
                    B[b * 8 + j] = S[7 - j]

    @T.prim_func
    def Expected(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        for b in T.thread_binding(4, thread="blockIdx.x"):
            for t in T.thread_binding(
                8, thread="threadIdx.x", annotations={"first": 1, "second": 2}
            ):
                with T.block(""):
                    T.reads()
                    T.writes()
                    S = T.alloc_buffer((8,), "float32", scope="shared")
                    S[t] = A[b * 8 + t]
                    B[b * 8 + t] = S[7 - t]


class TestRightWithinTheLoopAroundThem(PassTest):
    run = LiftThreadBinding()

    @T.prim_func
    def Before(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for b in T.thread_binding(1, thread="blockIdx.x"):
            for k in range(4):
                for i in T.thread_binding(8, thread="threadIdx.x"):
                    A[k, i] = A[k, i] * T.float32(2)
                for m in range(2):
                    for j in T.thread_binding(8, thread="threadIdx.x"):
                        B[k, j] = A[k, j] + T.Cast("float32", m)

    @T.prim_func
    def Expected(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for b in T.thread_binding(1, thread="blockIdx.x"):
            for k in range(4):
                for t in T.thread_binding(8, thread="threadIdx.x"):
                    A[k, t] = A[k, t] * T.float32(2)
                    for m in range(2):
                        B[k, t] = A[k, t] + T.Cast("float32", m)


class TestOneLoopForEachStays(PassTest):
    run = LiftThreadBinding()

    @T.prim_func
    def Before(A: T.Buffer((4, 8), "float32")):
        for b in T.thread_binding(4, thread="blockIdx.x"):
            for k in range(1):
                for i in T.thread_binding(8, thread="threadIdx.x"):
                    A[b, i] = A[b, i] * T.float32(2)

    Expected = Before


class TestTwoKernels(PassTest):
    run = LiftThreadBinding()

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in T.thread_binding(8, thread="threadIdx.x"):
            A[i] = T.float32(1)
        for j in T.thread_binding(8, thread="threadIdx.x"):
            B[j] = A[7 - j]

    Expected = Before


class TestHostCodeStays(PassTest):
    run = LiftThreadBinding()

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32")):
        for i in range(8):
            A[i] = T.float32(1)

    Expected = Before


def test_loops_of_one_axis_with_variables_of_two_types() -> None:
    @T.prim_func
    def before(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        for b in T.thread_binding(1, thread="blockIdx.x"):
            for i in T.thread_binding(32, thread="threadIdx.x"):
                A[i] = T.float32(1)
            for j in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                B[j] = A[j]

    text = LiftThreadBinding()(tvm.IRModule({"main": before}))["main"].script()
    assert 'B[T.Cast("int64", threadIdx_x)] = A[T.Cast("int64", threadIdx_x)]' in text
