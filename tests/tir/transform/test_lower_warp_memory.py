from __future__ import annotations

import numpy as np
import pytest

from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir import interp
from tvm.tir.function import PrimFunc
from tvm.tir.transform import LowerWarpMemory

pytestmark = pytest.mark.pure


class TestTheNextThread(PassTest):
    run = LowerWarpMemory()

    @T.prim_func
    def Before(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        T.func_attr({"target": T.target("cuda")})
        bx = T.launch_thread("blockIdx.x", 1)
        D = T.allocate([32], "float32", "warp")
        tx = T.launch_thread("threadIdx.x", 32)
        W = T.Buffer((32,), "float32", data=D, scope="warp")
        W[tx] = A[tx]
        B[tx] = W[(tx + 1) % 32] + W[tx]

    @T.prim_func
    def Expected(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        T.func_attr({"target": T.target("cuda")})
        bx = T.launch_thread("blockIdx.x", 1)
        D = T.allocate([1], "float32", "local")
        tx = T.launch_thread("threadIdx.x", 32)
        W = T.Buffer((1,), "float32", data=D, scope="local")
        W[0] = A[tx]
        B[tx] = (
            T.tvm_warp_shuffle(T.tvm_warp_activemask(), W[0], (tx + 1) % 32, 32, 32) + W[0]
        )


class TestSeveralElementsAndRounds(PassTest):
    run = LowerWarpMemory()

    @T.prim_func
    def Before(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):
        T.func_attr({"target": T.target("cuda")})
        bx = T.launch_thread("blockIdx.x", 1)
        D = T.allocate([64], "int32", "warp")
        tx = T.launch_thread("threadIdx.x", 16)
        W = T.decl_buffer((64,), "int32", data=D, scope="warp")
        for i, j in T.grid(2, 2):
            W[i * 32 + tx * 2 + j] = A[i * 32 + tx * 2 + j]
        for i, j in T.grid(2, 2):
            B[i * 32 + tx * 2 + j] = W[i * 32 + (15 - tx) * 2 + j]

    @T.prim_func
    def Expected(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):
        T.func_attr({"target": T.target("cuda")})
        bx = T.launch_thread("blockIdx.x", 1)
        D = T.allocate([4], "int32", "local")
        tx = T.launch_thread("threadIdx.x", 16)
        W = T.decl_buffer((4,), "int32", data=D, scope="local")
        for i, j in T.grid(2, 2):
            W[i * 2 + j] = A[i * 32 + tx * 2 + j]
        for i, j in T.grid(2, 2):
            B[i * 32 + tx * 2 + j] = T.tvm_warp_shuffle(
                T.tvm_warp_activemask(), W[i * 2 + j], 15 - tx, 16, 32
            )


class TestSizesThatDoNotDivide(PassTest):
    run = LowerWarpMemory()

    @T.prim_func
    def Before(A: T.Buffer((40,), "float32"), B: T.Buffer((32,), "float32")):
        T.func_attr({"target": T.target("cuda")})
        bx = T.launch_thread("blockIdx.x", 1)
        D = T.allocate([40], "float32", "warp")
        tx = T.launch_thread("threadIdx.x", 32)
        W = T.Buffer((40,), "float32", data=D, scope="warp")
        W[tx] = A[tx]
        if tx < 8:
            W[tx + 32] = A[tx + 32]
        B[tx] = W[tx % 8 + 32]

    @T.prim_func
    def Expected(A: T.Buffer((40,), "float32"), B: T.Buffer((32,), "float32")):
        T.func_attr({"target": T.target("cuda")})
        bx = T.launch_thread("blockIdx.x", 1)
        D = T.allocate([2], "float32", "local")
        tx = T.launch_thread("threadIdx.x", 32)
        W = T.Buffer((2,), "float32", data=D, scope="local")
        W[0] = A[tx]
        if tx < 8:
            W[1] = A[tx + 32]
        B[tx] = T.tvm_warp_shuffle(T.tvm_warp_activemask(), W[1], tx % 8, 32, 32)


class TestOtherMemoryStays(PassTest):
    run = LowerWarpMemory()

    @T.prim_func
    def Before(A: T.Buffer((32,), "float32")):
        T.func_attr({"target": T.target("cuda")})
        tx = T.launch_thread("threadIdx.x", 32)
        D = T.allocate([32], "float32", "shared")
        S = T.Buffer((32,), "float32", data=D, scope="shared")
        S[tx] = A[tx]
        A[tx] = S[31 - tx]

    Expected = Before


class TestFragments(PassTest):
    run = LowerWarpMemory()
    same_results = False  # matrix units are the device's

    @T.prim_func
    def Before(S: T.Buffer((256,), "float16")):
        T.func_attr({"target": T.target("cuda")})
        bx = T.launch_thread("blockIdx.x", 1)
        A = T.allocate([256], "float16", "warp")
        B = T.allocate([256], "float16", "warp")
        C = T.allocate([256], "float32", "warp")
        tx = T.launch_thread("threadIdx.x", 32)
        T.mma_fill(8, C, tx * 8, dtype="float32")
        T.ptx_ldmatrix(
            T.bool(False), 4, ".b16", A, tx * 8, S.data, tx % 16 * 16 + tx // 16 * 8,
            dtype="float16",
        )
        T.ptx_ldmatrix(
            T.bool(True), 4, ".b16", B, tx * 8, S.data, tx % 16 * 16 + tx // 16 * 8,
            dtype="float16",
        )
        T.ptx_mma(
            "m16n8k16", "row", "col", "fp16", "fp16", "fp32", A, tx * 8, B, tx * 8 + 4,
            C, tx * 8 + 4, T.bool(False), dtype="float32",
        )

    @T.prim_func
    def Expected(S: T.Buffer((256,), "float16")):
        T.func_attr({"target": T.target("cuda")})
        bx = T.launch_thread("blockIdx.x", 1)
        A = T.allocate([8], "float16", "local")
        B = T.allocate([8], "float16", "local")
        C = T.allocate([8], "float32", "local")
        tx = T.launch_thread("threadIdx.x", 32)
        T.mma_fill(8, C, 0, dtype="float32")
        T.ptx_ldmatrix(
            T.bool(False), 4, ".b16", A, 0, S.data, tx % 16 * 16 + tx // 16 * 8, dtype="float16"
        )
        T.ptx_ldmatrix(
            T.bool(True), 4, ".b16", B, 0, S.data, tx % 16 * 16 + tx // 16 * 8, dtype="float16"
        )
        T.ptx_mma(
            "m16n8k16", "row", "col", "fp16", "fp16", "fp32", A, 0, B, 4, C, 4, T.bool(False),
            dtype="float32",
        )


def warp_copy(threads: int = 32, factor: int = 1, other: int = 1, shift: int = 0) -> PrimFunc:
    @T.prim_func
    def func(A: T.Buffer((64,), "float32")):
        T.func_attr({"target": T.target("cuda")})
        D = T.allocate([64], "float32", "warp")
        tx = T.launch_thread("threadIdx.x", threads)
        W = T.Buffer((64,), "float32", data=D, scope="warp")
        W[tx * factor] = A[tx]
        W[tx * other] = A[tx]
        A[tx] = W[tx + shift * tx]

    return func


@pytest.mark.parametrize(
    ("func", "match"),
    [
        (warp_copy(threads=24), "divides the warp size 32"),
        (warp_copy(factor=0), "positive factor"),
        (warp_copy(factor=2), "factors 2 and 1"),
        (warp_copy(factor=2, other=2), "does not depend on tx"),
        (warp_copy().without_attr("target"), "without target"),
    ],
)
def test_refusals(func: PrimFunc, match: str) -> None:
    with pytest.raises(TVMError, match=match):
        LowerWarpMemory()(IRModule.from_expr(func))


def test_the_launch_stands_around() -> None:
    @T.prim_func
    def func(A: T.Buffer((32,), "float32")):
        T.func_attr({"target": T.target("cuda")})
        tx = T.launch_thread("threadIdx.x", 32)
        D = T.allocate([32], "float32", "warp")
        W = T.Buffer((32,), "float32", data=D, scope="warp")
        W[tx] = A[tx]
        A[tx] = W[31 - tx]

    after = LowerWarpMemory()(IRModule({"main": func}))["main"]
    assert 'D = T.allocate([1], "float32", "local")' in after.script()
    a = np.arange(32, dtype="float32")
    interp.run(after, a)
    np.testing.assert_array_equal(a, np.arange(32)[::-1])


def test_indices_with_names() -> None:
    @T.prim_func
    def func(A: T.Buffer((64,), "float32")):
        T.func_attr({"target": T.target("cuda")})
        tx = T.launch_thread("threadIdx.x", 32)
        D = T.allocate([64], "float32", "warp")
        W = T.Buffer((64,), "float32", data=D, scope="warp")
        with T.LetStmt(tx * 2) as own:
            for i in range(2):
                W[own + i] = A[own + i]
            for i in range(2):
                A[own + i] = W[63 - (own + i)]

    after = LowerWarpMemory()(IRModule({"main": func}))["main"]
    assert 'D = T.allocate([2], "float32", "local")' in after.script()
    a = np.arange(64, dtype="float32")
    interp.run(after, a)
    np.testing.assert_array_equal(a, np.arange(64)[::-1])


def test_no_launch() -> None:
    @T.prim_func
    def func(A: T.Buffer((32,), "float32")):
        T.func_attr({"target": T.target("cuda")})
        D = T.allocate([32], "float32", "warp")
        W = T.Buffer((32,), "float32", data=D, scope="warp")
        W[0] = A[0]

    with pytest.raises(TVMError, match=r"no threadIdx\.x around or within"):
        LowerWarpMemory()(IRModule.from_expr(func))
