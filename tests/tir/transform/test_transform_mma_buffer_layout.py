from __future__ import annotations

import pytest

from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import TransformMmaBufferLayout

pytestmark = pytest.mark.pure


class TestMatrices(PassTest):
    run = TransformMmaBufferLayout()

    @T.prim_func
    def Before(D: T.Buffer((64, 32), "float32")) -> None:
        with T.block("root"):
            T.reads()
            T.writes()
            C = T.alloc_buffer((64, 32), scope="m16n8k8.matrixC")
            A = T.alloc_buffer((64, 16), "float16", scope="m16n8k8.matrixA")
            B = T.alloc_buffer((8, 64), "float16", scope="m16n8k8.matrixB")
            for i, j in T.grid(64, 32):
                with T.block("init"):
                    T.reads()
                    T.writes(C[i, j])
                    C[i, j] = T.float32(1)
            T.evaluate(A.data)
            T.evaluate(B.data)
            for i, j in T.grid(64, 32):
                D[i, j] = C[i, j]

    @T.prim_func
    def Expected(D: T.Buffer((64, 32), "float32")) -> None:
        with T.block("root"):
            T.reads()
            T.writes()
            C = T.alloc_buffer((4, 4, 2, 2), scope="local")
            A = T.alloc_buffer((2, 2, 4, 2), "float16", scope="local")
            B = T.alloc_buffer((1, 2, 4, 2), "float16", scope="local")
            for i, j in T.grid(64, 32):
                with T.block("init"):
                    T.reads()
                    T.writes(C[0:4, 0:4, 0:2, 0:2])
                    C[i // 8 // 2, j // 8, i // 8 % 2, j % 8 % 2] = T.float32(1)
            T.evaluate(A.data)
            T.evaluate(B.data)
            for i, j in T.grid(64, 32):
                D[i, j] = C[i // 8 // 2, j // 8, i // 8 % 2, j % 8 % 2]


def test_shapes_that_do_not_fit() -> None:
    @T.prim_func
    def odd() -> None:
        with T.block("root"):
            C = T.alloc_buffer((8, 8), scope="m16n8k8.matrixC")
            C[0, 0] = T.float32(0)

    with pytest.raises(TVMError, match="a multiple of 16 rows"):
        TransformMmaBufferLayout()(IRModule({"main": odd}))


def test_elements_of_operands() -> None:
    @T.prim_func
    def single() -> None:
        with T.block("root"):
            A = T.alloc_buffer((32, 8), "float16", scope="m16n8k8.matrixA")
            A[0, 0] = T.float16(0)

    with pytest.raises(TVMError, match="an access of one element of A"):
        TransformMmaBufferLayout()(IRModule({"main": single}))
