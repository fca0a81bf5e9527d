from __future__ import annotations

import pytest

from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.ir.transform import Sequential
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import InjectVirtualThread, Simplify

pytestmark = pytest.mark.pure
RUN = Sequential([InjectVirtualThread(), Simplify()])


class TestCopiesInsideOfLoops(PassTest):
    run = RUN

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        with T.launch_thread("vthread", 2) as vx:
            D = T.allocate([4], "float32", "local")
            B = T.Buffer((4,), "float32", data=D, scope="local")
            for i in range(4):
                B[i] = A[vx * 4 + i]
            for i in range(4):
                C[vx * 4 + i] = B[3 - i]

    @T.prim_func
    def Expected(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        D = T.allocate([8], "float32", "local")
        B = T.Buffer((8,), "float32", data=D, scope="local")
        for i in range(4):
            B[i] = A[i]
            B[i + 4] = A[i + 4]
        for i in range(4):
            C[i] = B[3 - i]
            C[i + 4] = B[7 - i]


class TestWhatIsTheSameStaysOne(PassTest):
    run = RUN

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        with T.launch_thread("vthread", 2) as vx:
            D = T.allocate([4], "float32", "local")
            B = T.Buffer((4,), "float32", data=D, scope="local")
            for i in range(4):
                B[i] = A[i]
            for i in range(4):
                C[vx * 4 + i] = B[i]

    @T.prim_func
    def Expected(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        D = T.allocate([4], "float32", "local")
        B = T.Buffer((4,), "float32", data=D, scope="local")
        for i in range(4):
            B[i] = A[i]
        for i in range(4):
            C[i] = B[i]
            C[i + 4] = B[i]


class TestManyStandInALoop(PassTest):
    run = RUN

    @T.prim_func
    def Before(C: T.Buffer((64,), "int32")):
        with T.launch_thread("vthread", 32) as vx:
            C[vx] = vx

    @T.prim_func
    def Expected(C: T.Buffer((64,), "int32")):
        for vx in range(32):
            C[vx] = vx


class TestALoopOfDifferentLength(PassTest):
    run = RUN

    @T.prim_func
    def Before(C: T.Buffer((2, 4), "int32")):
        with T.launch_thread("vthread", 2) as vx:
            for i in range(vx + 1):
                C[vx, i] = i

    @T.prim_func
    def Expected(C: T.Buffer((2, 4), "int32")):
        for vx in range(2):
            for i in range(vx + 1):
                C[vx, i] = i


class TestAConditionAndALet(PassTest):
    run = RUN

    @T.prim_func
    def Before(C: T.Buffer((8,), "int32"), n: T.int32):
        with T.launch_thread("vthread", 2) as vx:
            x: T.int32 = vx * 2
            if n > 3:
                C[x] = n
            else:
                C[x + 1] = n

    @T.prim_func
    def Expected(C: T.Buffer((8,), "int32"), n: T.int32):
        if 3 < n:
            C[0] = n
        else:
            C[1] = n
        if 3 < n:
            C[2] = n
        else:
            C[3] = n


class TestTwoAxes(PassTest):
    run = RUN

    @T.prim_func
    def Before(C: T.Buffer((2, 2), "int32")):
        with T.launch_thread("vthread", 2) as vx:
            with T.launch_thread("vthread.y", 2) as vy:
                C[vx, vy] = vx * 2 + vy


class TestAnAddress(PassTest):
    run = RUN
    same_results = False

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32")):
        with T.launch_thread("vthread", 2) as vx:
            D = T.allocate([4], "float32", "local")
            B = T.Buffer((4,), "float32", data=D, scope="local")
            T.call_extern("int32", "fill", B.access_ptr("w"), vx)

    @T.prim_func
    def Expected(A: T.Buffer((8,), "float32")):
        D = T.allocate([8], "float32", "local")
        T.call_extern(
            "int32", "fill", T.tvm_access_ptr(T.type_annotation("float32"), D, 0, 4, 2), 0
        )
        T.call_extern(
            "int32", "fill", T.tvm_access_ptr(T.type_annotation("float32"), D, 4, 4, 2), 1
        )


def test_threads_that_share_nothing() -> None:
    @T.prim_func
    def func(A: T.Buffer((4,), "float32"), C: T.Buffer((8,), "float32")):
        cx = T.int32()
        axis = T.iter_var(cx, T.Range(0, 2), "ThreadIndex", "cthread")
        with T.attr(axis, "virtual_thread", 2):
            D = T.allocate([4], "float32", "local")
            B = T.Buffer((4,), "float32", data=D, scope="local")
            B[0] = A[0]
            C[cx] = B[0]

    text = RUN(IRModule.from_expr(func)).script()
    assert 'T.allocate([8], "float32", "local")' in text
    assert "B[4] = A[0]" in text


def test_rejects_a_number_that_is_not_known() -> None:
    @T.prim_func
    def func(C: T.Buffer((8,), "int32"), n: T.int32):
        with T.launch_thread("vthread", n) as vx:
            C[vx] = 1

    with pytest.raises(TVMError, match="found: n virtual threads"):
        RUN(IRModule.from_expr(func))


class TestVectors(PassTest):
    run = InjectVirtualThread()
    same_results = False

    @T.prim_func
    def Before(A: T.Buffer((1,), "float32")):
        v = T.env_thread("vthread")
        T.launch_thread(v, 20)
        D = T.allocate([16], "float32", "shared")
        B = T.Buffer((16,), data=D, scope="shared")
        for j in range(4):
            B[T.Ramp(j * 4, 1, 4)] = T.Broadcast(T.Cast("float32", v), 4)
            A[0] = A[0] + B[j]

    @T.prim_func
    def Expected(A: T.Buffer((1,), "float32")):
        D = T.allocate([320], "float32", "shared")
        B = T.Buffer((320,), data=D, scope="shared")
        for j in range(4):
            for v in range(20):
                B[T.Ramp(v * 16 + j * 4, 1, 4)] = T.Broadcast(T.Cast("float32", v), 4)
            for v in range(20):
                A[0] = A[0] + B[v * 16 + j]
