from __future__ import annotations

import pytest

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import ReduceBranchingThroughOvercompute

pytestmark = pytest.mark.pure


class TestBranchesThatDoTheSame(PassTest):
    run = ReduceBranchingThroughOvercompute()

    @T.prim_func
    def Before(A: T.Buffer(16, "int32")) -> None:
        for i in range(16):
            if i < 8:
                A[i] = 42
            else:
                A[i] = 42
                T.evaluate(0)

    @T.prim_func
    def Expected(A: T.Buffer(16, "int32")) -> None:
        for i in range(16):
            A[i] = 42


class TestAnAdditionOfZero(PassTest):
    run = ReduceBranchingThroughOvercompute()

    @T.prim_func
    def Before(A: T.Buffer(1, "int32")) -> None:
        for i in range(1):
            if i > 0:
                A[0] = A[0] + i * i

    @T.prim_func
    def Expected(A: T.Buffer(1, "int32")) -> None:
        for i in range(1):
            A[0] = A[0] + i * i


class TestBranchesThatDiffer(PassTest):
    run = ReduceBranchingThroughOvercompute()

    @T.prim_func
    def Before(A: T.Buffer(16, "int32")) -> None:
        for i in range(16):
            if i < 8:
                A[i] = 42
            else:
                A[i] = 43

    Expected = Before


@T.prim_func
def padded(A: T.Buffer(16, "int32"), B: T.Buffer(1, "int32")) -> None:
    for i in range(16):
        T.evaluate(T.assume(i < 14 or A[i] == 0))
    B[0] = 0
    for i in range(16):
        if i < 14:
            B[0] = B[0] + A[i]


@pytest.mark.parametrize("flow", [True, False])
def test_contents_of_buffers(flow: bool) -> None:
    config = {"tir.ReduceBranchingThroughOvercompute": {"use_dataflow_analysis": flow}}
    with PassContext(config=config):
        text = ReduceBranchingThroughOvercompute()(IRModule({"main": padded})).script()
    assert ("if i < 14" not in text) == flow
    assert "B[0] = B[0] + A[i]" in text


@T.prim_func
def overwritten(A: T.Buffer(16, "int32")) -> None:
    for i in range(16):
        if i < 14:
            A[i] = 1
        else:
            A[i] = 2
    for i in range(16):
        if i >= 14:
            A[i] = 2


@pytest.mark.parametrize("flow", [True, False])
def test_stores_that_are_overwritten(flow: bool) -> None:
    config = {"tir.ReduceBranchingThroughOvercompute": {"use_dataflow_analysis": flow}}
    with PassContext(config=config):
        text = ReduceBranchingThroughOvercompute()(IRModule({"main": overwritten})).script()
    assert ("if i < 14" not in text) == flow
