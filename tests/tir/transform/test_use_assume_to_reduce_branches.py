from __future__ import annotations

import pytest

from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import UseAssumeToReduceBranches

pytestmark = pytest.mark.pure


class TestBlocks(PassTest):
    run = UseAssumeToReduceBranches()
    same_results = False  # random inputs do not hold what is assumed

    @T.prim_func
    def Before(A: T.Buffer((4, 16), "float32"), B: T.Buffer((4, 16), "float32")) -> None:
        T.func_attr({"op_pattern": 0})
        for i, j in T.grid(4, 16):
            with T.block("assume"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.assume(not (vi == 3 and 14 <= vj) or A[vi, vj] == T.float32(0))
        for i, j in T.grid(4, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.if_then_else(
                    vi == 3 and 14 <= vj, T.float32(0), A[vi, vj] * A[vi, vj] + A[vi, vj]
                )

    @T.prim_func
    def Expected(A: T.Buffer((4, 16), "float32"), B: T.Buffer((4, 16), "float32")) -> None:
        T.func_attr({"op_pattern": 0})
        for i, j in T.grid(4, 16):
            with T.block("assume"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.assume(not (vi == 3 and 14 <= vj) or A[vi, vj] == T.float32(0))
        for i, j in T.grid(4, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * A[vi, vj] + A[vi, vj]


class TestTheOtherWayRound(PassTest):
    run = UseAssumeToReduceBranches()
    same_results = False

    @T.prim_func
    def Before(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")) -> None:
        T.func_attr({"op_pattern": 1})
        for i in range(16):
            T.assume(i < 14 or A[i] == 2)
        for i in range(16):
            B[i] = T.if_then_else(i < 14, A[i] * 3, 6)

    @T.prim_func
    def Expected(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")) -> None:
        T.func_attr({"op_pattern": 1})
        for i in range(16):
            T.assume(i < 14 or A[i] == 2)
        for i in range(16):
            B[i] = A[i] * 3


class TestAnotherPadding(PassTest):
    run = UseAssumeToReduceBranches()

    @T.prim_func
    def Before(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")) -> None:
        T.func_attr({"op_pattern": 0})
        for i in range(16):
            T.assume(i < 14 or A[i] == 2)
        for i in range(16):
            B[i] = T.if_then_else(i < 14, A[i] + 1, 0)

    Expected = Before
    same_results = False


class TestMoreIsChosenThanAssumed(PassTest):
    run = UseAssumeToReduceBranches()
    same_results = False

    @T.prim_func
    def Before(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")) -> None:
        T.func_attr({"op_pattern": 0})
        for i in range(16):
            T.assume(i < 14 or A[i] == 0)
        for i in range(16):
            B[i] = T.if_then_else(i < 12, A[i], 0)

    Expected = Before


class TestOtherPatterns(PassTest):
    run = UseAssumeToReduceBranches()
    same_results = False

    @T.prim_func
    def Before(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")) -> None:
        T.func_attr({"op_pattern": 8})
        for i in range(16):
            T.assume(i < 14 or A[i] == 0)
        for i in range(16):
            B[i] = T.if_then_else(i < 14, A[i], 0)

    Expected = Before
