from __future__ import annotations

import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import ManifestSharedMemoryLocalStage

pytestmark = pytest.mark.pure


class TestCopy(PassTest):
    run = ManifestSharedMemoryLocalStage()

    @T.prim_func
    def Before(A: T.Buffer((8, 64), "float32"), C: T.Buffer((8, 64), "float32")) -> None:
        for k in range(8):
            with T.block():
                T.reads(A[k, 0:64])
                T.writes(C[k, 0:64])
                S = T.alloc_buffer((64,), scope="shared")
                for i in range(16):
                    for v in T.vectorized(4):
                        with T.block("S"):
                            T.reads(A[k, i * 4 + v])
                            T.writes(S[i * 4 + v])
                            T.block_attr({"tir.manifest_shared_memory_local_stage": 1})
                            S[i * 4 + v] = A[k, i * 4 + v]
                for i in range(64):
                    C[k, i] = S[i] * T.float32(2)

    @T.prim_func
    def Expected(A: T.Buffer((8, 64), "float32"), C: T.Buffer((8, 64), "float32")) -> None:
        for k in range(8):
            with T.block():
                T.reads(A[k, 0:64])
                T.writes(C[k, 0:64])
                S = T.alloc_buffer((64,), scope="shared")
                L = T.alloc_buffer((16, 4), scope="local")
                for i in range(16):
                    for v in T.vectorized(4):
                        with T.block():
                            T.reads(A[k, i * 4 + v])
                            T.writes(L[i, v])
                            L[i, v] = A[k, i * 4 + v]
                for i in range(16):
                    for v in T.vectorized(4):
                        with T.block("S"):
                            T.reads(A[k, i * 4 + v])
                            T.writes(S[i * 4 + v])
                            S[i * 4 + v] = L[i, v]
                for i in range(64):
                    C[k, i] = S[i] * T.float32(2)


def marked(kind: str, scope: str = "shared", more: bool = False) -> object:
    if kind == "parallel":

        @T.prim_func
        def threads(A: T.Buffer((64,), "float32")) -> None:
            with T.block():
                S = T.alloc_buffer((64,), scope=scope)
                for i in T.parallel(64):
                    with T.block("S"):
                        T.block_attr({"tir.manifest_shared_memory_local_stage": 1})
                        S[i] = A[i]

        return threads

    @T.prim_func
    def serial(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")) -> None:
        with T.block():
            S = T.alloc_buffer((64,), scope=scope)
            for i in range(64):
                if more:
                    B[i] = T.float32(0)
                with T.block("S"):
                    T.block_attr({"tir.manifest_shared_memory_local_stage": 1})
                    S[i] = A[i]

    return serial


@pytest.mark.parametrize(
    ("func", "text"),
    [
        (marked("parallel"), "around it is parallel"),
        (marked("serial", "global"), "no store to shared memory"),
        (marked("serial", more=True), "holds other statements"),
    ],
)
def test_refusals(func: object, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        ManifestSharedMemoryLocalStage()(IRModule({"main": func}))
