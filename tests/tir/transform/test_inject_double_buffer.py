from __future__ import annotations

import pytest

from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, Sequential
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import InjectDoubleBuffer, RemoveNoOp, Simplify, ThreadSync

pytestmark = pytest.mark.pure


@T.prim_func
def filled_in_a_loop(A: T.Buffer((400,), "float32"), C: T.Buffer((400,), "float32")):
    for i in range(100):
        D = T.allocate([4], "float32", "shared")
        B = T.Buffer((4,), "float32", data=D, scope="shared")
        with T.attr(D, "double_buffer_scope", 1):
            for j in range(4):
                B[j] = A[i * 4 + j]
        for j in range(4):
            C[i * 4 + j] = B[j] + T.float32(1)


class TestHalvesInTurn(PassTest):
    run = Sequential([InjectDoubleBuffer(), Simplify()])
    Before = filled_in_a_loop

    @T.prim_func
    def Expected(A: T.Buffer((400,), "float32"), C: T.Buffer((400,), "float32")):
        D = T.allocate([8], "float32", "shared")
        B = T.Buffer((8,), "float32", data=D, scope="shared")
        for j in range(4):
            B[j] = A[j]
        for i in range(99):
            with T.attr(D, "double_buffer_write", 1):
                for j in range(4):
                    B[(i + 1) % 2 * 4 + j] = A[i * 4 + j + 4]
            for j in range(4):
                C[i * 4 + j] = B[i % 2 * 4 + j] + T.float32(1)
        for j in range(4):
            C[j + 396] = B[j + 4] + T.float32(1)


class TestDeclaredBuffers(PassTest):
    """One declaration stands by the memory, for all parts of the loop."""

    run = Sequential([InjectDoubleBuffer(), Simplify()])

    @T.prim_func
    def Before(A: T.Buffer((48,), "float32"), C: T.Buffer((48,), "float32")):
        for i in range(8):
            B = T.decl_buffer((6,))
            with T.attr(B.data, "double_buffer_scope", 1):
                for j in range(6):
                    B[j] = A[i * 6 + j]
            for j in range(6):
                C[i * 6 + j] = B[j] + T.float32(1)

    @T.prim_func
    def Expected(A: T.Buffer((48,), "float32"), C: T.Buffer((48,), "float32")):
        B = T.decl_buffer((12,))
        for j in range(6):
            B[j] = A[j]
        for i in range(7):
            with T.attr(B.data, "double_buffer_write", 1):
                for j in range(6):
                    B[(i + 1) % 2 * 6 + j] = A[i * 6 + j + 6]
            for j in range(6):
                C[i * 6 + j] = B[i % 2 * 6 + j] + T.float32(1)
        for j in range(6):
            C[j + 42] = B[j + 6] + T.float32(1)


class TestMemoryOutsideOfTheLoop(PassTest):
    run = Sequential([InjectDoubleBuffer(), Simplify()])

    @T.prim_func
    def Before(A: T.Buffer((48,), "float32"), C: T.Buffer((48,), "float32")):
        B = T.decl_buffer((6,))
        for i in range(8):
            with T.attr(B.data, "double_buffer_scope", 1):
                for j in range(6):
                    B[j] = A[i * 6 + j]
            for j in range(6):
                C[i * 6 + j] = B[j] + T.float32(1)

    Expected = TestDeclaredBuffers.Expected


def _with(split: int) -> object:
    def run(mod: IRModule) -> IRModule:
        with PassContext(config={"tir.InjectDoubleBuffer": {"split_loop": split}}):
            return Sequential([InjectDoubleBuffer(), Simplify(), RemoveNoOp()])(mod)

    return run


class TestTheLoopStays(PassTest):
    run = _with(0)
    Before = filled_in_a_loop


class TestTwoIterationsInOne(PassTest):
    run = _with(2)
    Before = filled_in_a_loop


class TestFourIterationsInOne(PassTest):
    run = _with(4)
    Before = filled_in_a_loop


def test_the_guard_stays_with_the_loop() -> None:
    text = _with(0)(IRModule.from_expr(filled_in_a_loop)).script()
    assert "if i < 99:" in text


def test_two_iterations_stand_without_guards() -> None:
    text = _with(2)(IRModule.from_expr(filled_in_a_loop)).script()
    assert "range(49)" in text
    assert "if " not in text


class TestOfThreads(PassTest):
    run = Sequential([InjectDoubleBuffer(), Simplify(), ThreadSync("shared")])

    @T.prim_func
    def Before(A: T.Buffer((80,), "float32"), C: T.Buffer((80,), "float32")):
        tx = T.launch_thread("threadIdx.x", 8)
        for i in range(10):
            D = T.allocate([8], "float32", "shared")
            B = T.Buffer((8,), "float32", data=D, scope="shared")
            with T.attr(D, "double_buffer_scope", 1):
                B[tx] = A[i * 8 + tx]
            C[i * 8 + tx] = B[7 - tx] + T.float32(1)


def test_one_barrier_an_iteration() -> None:
    mod = IRModule.from_expr(TestOfThreads.Before.with_attr("global_symbol", "main"))
    assert TestOfThreads.run(mod).script().count("tvm_storage_sync") == 2


def test_rejects_a_scope_outside_of_loops() -> None:
    @T.prim_func
    def func(A: T.Buffer((4,), "float32")):
        D = T.allocate([4], "float32", "shared")
        B = T.Buffer((4,), "float32", data=D, scope="shared")
        with T.attr(D, "double_buffer_scope", 1):
            B[0] = A[0]

    with pytest.raises(TVMError, match="no loop around it"):
        InjectDoubleBuffer()(IRModule.from_expr(func))


def test_rejects_a_store_outside_of_the_scope() -> None:
    @T.prim_func
    def func(A: T.Buffer((4,), "float32")):
        for i in range(4):
            D = T.allocate([4], "float32", "shared")
            B = T.Buffer((4,), "float32", data=D, scope="shared")
            with T.attr(D, "double_buffer_scope", 1):
                B[0] = A[i]
            B[1] = A[i]

    with pytest.raises(TVMError, match="outside of its double_buffer_scope"):
        InjectDoubleBuffer()(IRModule.from_expr(func))


def test_rejects_an_odd_split() -> None:
    with pytest.raises(TVMError, match="split_loop is 3"):
        _with(3)(IRModule.from_expr(filled_in_a_loop))
