from __future__ import annotations

import pytest

from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import PointerValueTypeRewrite

pytestmark = pytest.mark.pure


class TestScalarReadsAreLanes(PassTest):
    run = PointerValueTypeRewrite()
    same_results = False  # the parameter is an array of vectors

    @T.prim_func
    def Before(A: T.Buffer((16,), "float32"), B: T.Buffer((4,), "float32")) -> None:
        a = T.allocate([16], "float32", scope="local")
        L = T.decl_buffer((16,), "float32", data=a, scope="local")
        for i in range(4):
            L[i * 4 : i * 4 + 4] = A[i * 4 : i * 4 + 4]
        for i in range(4):
            B[i] = L[i * 4] + L[i * 4 + 1] + L[i * 4 + 3]

    @T.prim_func
    def Expected(A: T.Buffer((4,), "float32x4"), B: T.Buffer((4,), "float32")) -> None:
        a = T.allocate([4], "float32x4", scope="local")
        L = T.decl_buffer((4,), "float32x4", data=a, scope="local")
        for i in range(4):
            L[T.Div(i * 4, 4)] = A[T.Div(i * 4, 4)]
        for i in range(4):
            B[i] = (
                T.Shuffle([L[T.Div(i * 4, 4)]], [0])
                + T.Shuffle([L[T.Div(i * 4 + 1, 4)]], [1])
                + T.Shuffle([L[T.Div(i * 4 + 3, 4)]], [3])
            )


class TestConstantIndices(PassTest):
    run = PointerValueTypeRewrite()

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")) -> None:
        a = T.allocate([8], "float32", scope="local")
        L = T.decl_buffer((8,), "float32", data=a, scope="local")
        L[0:4] = T.Broadcast(A[1], 4)
        L[4:8] = T.Broadcast(A[3], 4)
        B[0] = L[0] + L[5]

    @T.prim_func
    def Expected(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")) -> None:
        a = T.allocate([2], "float32x4", scope="local")
        L = T.decl_buffer((2,), "float32x4", data=a, scope="local")
        L[0] = T.Broadcast(A[1], 4)
        L[1] = T.Broadcast(A[3], 4)
        B[0] = T.Shuffle([L[0]], [0]) + T.Shuffle([L[1]], [1])


class Stays(PassTest):
    run = PointerValueTypeRewrite()


class TestScalarStores(Stays):
    @T.prim_func
    def Before(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")) -> None:
        a = T.allocate([16], "float32", scope="local")
        L = T.decl_buffer((16,), "float32", data=a, scope="local")
        for i in range(16):
            L[i] = A[i]
        for i in range(16):
            B[i] = L[i] + T.Shuffle([L[0:4]], [1])

    Expected = Before


class TestScalarReadsAlone(Stays):
    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")) -> None:
        B[0] = A[0] + A[4]

    Expected = Before


class TestLanesThatAreNotKnown(Stays):
    @T.prim_func
    def Before(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")) -> None:
        for i in range(16):
            B[i] = A[i] + T.Shuffle([A[0:4]], [1])

    Expected = Before


class TestOtherStarts(Stays):
    @T.prim_func
    def Before(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")) -> None:
        for i in range(12):
            B[i] = T.Shuffle([A[i : i + 4]], [1])

    Expected = Before


class TestSeveralLengths(Stays):
    @T.prim_func
    def Before(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")) -> None:
        B[0] = T.Shuffle([A[0:4]], [1]) + T.Shuffle([A[8:16]], [1])

    Expected = Before


class TestAnExtentThatDoesNotDivide(Stays):
    @T.prim_func
    def Before(A: T.Buffer((6,), "float32"), B: T.Buffer((1,), "float32")) -> None:
        B[0] = T.Shuffle([A[0:4]], [1])

    Expected = Before


class TestPointersByName(PassTest):
    run = PointerValueTypeRewrite()
    same_results = False

    @T.prim_func
    def Before():
        Ud: T.handle("int32") = T.call_extern("handle", "memory")
        U = T.Buffer((8,), "int32", data=Ud)
        U[0:4] = T.Broadcast(9, 4)
        U[4:8] = U[0:4]

    @T.prim_func
    def Expected():
        Ud: T.handle("int32x4") = T.call_extern("handle", "memory")
        U = T.Buffer((2,), "int32x4", data=Ud)
        U[0] = T.Broadcast(9, 4)
        U[1] = U[0]
