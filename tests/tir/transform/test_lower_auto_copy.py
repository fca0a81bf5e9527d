from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import tir
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.interp import run
from tvm.tir.transform import LowerAutoCopy

pytestmark = pytest.mark.pure


class TestPlain(PassTest):
    run = LowerAutoCopy()

    @T.prim_func
    def Before(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                T.reads(A[vi, 0:8])
                T.writes(B[vi, 0:8])
                T.block_attr({"auto_copy": 1, "vector_bytes": 16, "why": 2})
                for ax in range(8):
                    B[vi, ax] = A[vi, ax]

    @T.prim_func
    def Expected(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                T.reads(A[vi, 0:8])
                T.writes(B[vi, 0:8])
                T.block_attr({"auto_copy": 1, "vector_bytes": 16, "why": 2})
                for ax in range(8):
                    B[vi, ax] = A[vi, ax]


class TestOtherBlocksStay(PassTest):
    run = LowerAutoCopy()

    @T.prim_func
    def Before(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi]

    Expected = Before


@T.prim_func
def staged(A: T.Buffer((8, 12), "float32"), B: T.Buffer((8, 12), "float32")) -> None:
    A_shared = T.alloc_buffer((8, 12), scope="shared")
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for ty in T.thread_binding(2, thread="threadIdx.y"):
            for tx in T.thread_binding(4, thread="threadIdx.x"):
                with T.block("A_shared"):
                    vb = T.axis.spatial(1, b)
                    T.reads(A[0:8, 0:12])
                    T.writes(A_shared[0:8, 0:12])
                    T.block_attr({"auto_copy": 1, "vector_bytes": 8})
                    for ax0, ax1 in T.grid(8, 12):
                        A_shared[ax0, ax1] = A[ax0, ax1]
                for i in range(12):
                    with T.block("B"):
                        vi = T.axis.spatial(8, ty * 4 + tx)
                        vj = T.axis.spatial(12, i)
                        T.reads(A_shared[vi, vj])
                        T.writes(B[vi, vj])
                        B[vi, vj] = A_shared[vi, vj] + T.float32(1)


@T.prim_func
def staged_by_threads(A: T.Buffer((8, 12), "float32"), B: T.Buffer((8, 12), "float32")) -> None:
    A_shared = T.alloc_buffer((8, 12), strides=(12, 1), scope="shared")
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for ty in T.thread_binding(2, thread="threadIdx.y"):
            for tx in T.thread_binding(4, thread="threadIdx.x"):
                with T.block("A_shared"):
                    vb = T.axis.spatial(1, b)
                    T.reads(A[0:8, 0:12])
                    T.writes(A_shared[0:8, 0:12])
                    T.block_attr({"auto_copy": 1, "vector_bytes": 8})
                    for outer in range(6):
                        for y in T.thread_binding(2, thread="threadIdx.y"):
                            for x in T.thread_binding(4, thread="threadIdx.x"):
                                for vec in T.vectorized(2):
                                    A_shared[
                                        (((outer * 2 + y) * 4 + x) * 2 + vec) // 12 % 8,
                                        (((outer * 2 + y) * 4 + x) * 2 + vec) % 12,
                                    ] = A[
                                        (((outer * 2 + y) * 4 + x) * 2 + vec) // 12 % 8,
                                        (((outer * 2 + y) * 4 + x) * 2 + vec) % 12,
                                    ]
                for i in range(12):
                    with T.block("B"):
                        vi = T.axis.spatial(8, ty * 4 + tx)
                        vj = T.axis.spatial(12, i)
                        T.reads(A_shared[vi, vj])
                        T.writes(B[vi, vj])
                        B[vi, vj] = A_shared[vi, vj] + T.float32(1)


def lowered(func: tir.PrimFunc) -> tir.PrimFunc:
    return LowerAutoCopy()(tvm.IRModule({"main": func}))["main"]


def test_threads_share_the_work() -> None:
    found = lowered(staged)
    expected = staged_by_threads.with_attr("global_symbol", "staged")
    tvm.ir.assert_structural_equal(found, expected)
    data = np.random.default_rng(0).standard_normal((8, 12)).astype("float32")
    for func in (staged, found):
        out = np.zeros_like(data)
        run(func, data, out)
        np.testing.assert_array_equal(out, data + 1)


def test_a_last_step_that_is_not_full() -> None:
    text = staged.script().replace("(8, 12)", "(8, 11)").replace("T.grid(8, 12)", "T.grid(8, 11)")
    text = text.replace("T.axis.spatial(12, i)", "T.axis.spatial(11, i)").replace("0:12", "0:11")
    func = tvm.script.from_source(text.replace("range(12)", "range(11)"))
    body = lowered(func).script()
    assert "if ((outer * 2 + ty_1) * 4 + tx_1) * 2 + vec < 88:" in body
    data = np.random.default_rng(0).standard_normal((8, 11)).astype("float32")
    out = np.zeros_like(data)
    run(lowered(func), data, out)
    np.testing.assert_array_equal(out, data + 1)


@T.prim_func
def transposed(A: T.Buffer((64, 16), "float32"), B: T.Buffer((16, 64), "float32")) -> None:
    with T.block("root"):
        T.block_attr({"warp_execution": True})
        A_shared = T.alloc_buffer((16, 64), scope="shared.dyn")
        with T.block("A_shared"):
            T.reads(A[0:64, 0:16])
            T.writes(A_shared[0:16, 0:64])
            T.block_attr({"auto_copy": True, "local_stage": True, "vector_bytes": 4})
            for ax1, ax0 in T.grid(16, 64):
                A_shared[ax1, ax0] = A[ax0, ax1]
        with T.block("B"):
            T.reads(A_shared[0:16, 0:64])
            T.writes(B[0:16, 0:64])
            T.block_attr({"auto_copy": True})
            for ax0, ax1 in T.grid(16, 64):
                B[ax0, ax1] = A_shared[ax0, ax1]


def test_gaps_behind_rows_and_copies_through_registers() -> None:
    found = lowered(transposed)
    text = found.script()
    assert 'A_shared = T.alloc_buffer((16, 64), strides=(66, 1), scope="shared.dyn")' in text
    assert 'A_shared_local = T.alloc_buffer((32,), scope="local")' in text
    assert text.count('T.thread_binding(32, thread="threadIdx.x")') == 2
    assert "A_shared_local[outer] = A[(outer * 32 + tx) // 16 % 64, (outer * 32 + tx) % 16]" in text
    data = np.random.default_rng(0).standard_normal((64, 16)).astype("float32")
    for func in (transposed, found):
        out = np.zeros((16, 64), "float32")
        run(func, data, out)
        np.testing.assert_array_equal(out, data.T)
