from __future__ import annotations

import pytest

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import MergeSharedMemoryAllocations

pytestmark = pytest.mark.pure


class TestOneAfterTheOther(PassTest):
    run = MergeSharedMemoryAllocations()

    @T.prim_func
    def Before(A: T.Buffer((32,), "float32"), C: T.Buffer((32,), "float32")):
        bx = T.launch_thread("blockIdx.x", 1)
        X = T.allocate([32], "float32", "shared.dyn")
        Y = T.allocate([3], "float16", "shared.dyn")
        Z = T.allocate([32], "float32", "shared.dyn")
        tx = T.launch_thread("threadIdx.x", 32)
        x = T.decl_buffer((32,), "float32", data=X, scope="shared.dyn")
        y = T.decl_buffer((3,), "float16", data=Y, scope="shared.dyn")
        z = T.decl_buffer((32,), "float32", data=Z, scope="shared.dyn")
        x[tx] = A[tx]
        y[0] = T.float16(1)
        z[tx] = A[tx] + T.Cast("float32", y[0])
        C[tx] = x[tx] + z[tx]

    @T.prim_func
    def Expected(A: T.Buffer((32,), "float32"), C: T.Buffer((32,), "float32")):
        bx = T.launch_thread("blockIdx.x", 1)
        M = T.allocate([272], "uint8", "shared.dyn")
        tx = T.launch_thread("threadIdx.x", 32)
        x = T.decl_buffer((32,), "float32", data=M, scope="shared.dyn")
        y = T.decl_buffer((3,), "float16", data=M, scope="shared.dyn")
        z = T.decl_buffer((32,), "float32", data=M, scope="shared.dyn")
        x[tx] = A[tx]
        y[64] = T.float16(1)
        z[tx + 36] = A[tx] + T.Cast("float32", y[64])
        C[tx] = x[tx] + z[tx + 36]


class TestUsedAgain(PassTest):
    run = MergeSharedMemoryAllocations()

    @T.prim_func
    def Before(A: T.Buffer((32,), "float32"), C: T.Buffer((32,), "float32")):
        tx = T.launch_thread("threadIdx.x", 32)
        X = T.allocate([32], "float32", "shared.dyn")
        Y = T.allocate([16], "float64", "shared.dyn")
        x = T.decl_buffer((32,), "float32", data=X, scope="shared.dyn")
        y = T.decl_buffer((16,), "float64", data=Y, scope="shared.dyn")
        x[tx] = A[tx]
        C[tx] = x[31 - tx]
        if tx < 16:
            y[tx] = T.Cast("float64", C[tx])
            C[tx] = C[tx] + T.Cast("float32", y[tx])

    @T.prim_func
    def Expected(A: T.Buffer((32,), "float32"), C: T.Buffer((32,), "float32")):
        tx = T.launch_thread("threadIdx.x", 32)
        M = T.allocate([128], "uint8", "shared.dyn")
        x = T.decl_buffer((32,), "float32", data=M, scope="shared.dyn")
        y = T.decl_buffer((16,), "float64", data=M, scope="shared.dyn")
        x[tx] = A[tx]
        C[tx] = x[31 - tx]
        if tx < 16:
            y[tx] = T.Cast("float64", C[tx])
            C[tx] = C[tx] + T.Cast("float32", y[tx])


class TestSizesThatAreNotKnown(PassTest):
    run = MergeSharedMemoryAllocations()

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), n: T.int32):
        tx = T.launch_thread("threadIdx.x", 8)
        X = T.allocate([n + 8], "float32", "shared.dyn")
        Y = T.allocate([5], "float32", "shared.dyn")
        x = T.decl_buffer((n + 8,), "float32", data=X, scope="shared.dyn")
        y = T.decl_buffer((5,), "float32", data=Y, scope="shared.dyn")
        y[0] = T.float32(2)
        x[tx] = A[tx] * y[0]
        A[tx] = x[tx]

    @T.prim_func
    def Expected(A: T.Buffer((8,), "float32"), n: T.int32):
        tx = T.launch_thread("threadIdx.x", 8)
        M = T.allocate([32 + (n + 8) * 4], "uint8", "shared.dyn")
        x = T.decl_buffer((n + 8,), "float32", data=M, scope="shared.dyn")
        y = T.decl_buffer((5,), "float32", data=M, scope="shared.dyn")
        y[0] = T.float32(2)
        x[tx + 8] = A[tx] * y[0]
        A[tx] = x[tx + 8]


class TestOneAllocationStays(PassTest):
    run = MergeSharedMemoryAllocations()

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32")):
        tx = T.launch_thread("threadIdx.x", 8)
        X = T.allocate([8], "float32", "shared.dyn")
        Y = T.allocate([8], "float32", "shared")
        x = T.decl_buffer((8,), "float32", data=X, scope="shared.dyn")
        y = T.decl_buffer((8,), "float32", data=Y, scope="shared")
        x[tx] = A[tx]
        y[tx] = x[7 - tx]
        A[tx] = y[tx]

    Expected = Before


def test_addresses_move_too() -> None:
    @T.prim_func
    def func(A: T.Buffer((8,), "float32")):
        tx = T.launch_thread("threadIdx.x", 8)
        X = T.allocate([8], "float32", "shared.dyn")
        Y = T.allocate([8], "float16", "shared.dyn")
        x = T.decl_buffer((8,), "float32", data=X, scope="shared.dyn")
        y = T.decl_buffer((8,), "float16", data=Y, scope="shared.dyn")
        T.call_extern("int32", "f", x.access_ptr("w"), y.access_ptr("w", offset=2), Y)
        A[tx] = x[tx]

    text = MergeSharedMemoryAllocations()(IRModule.from_expr(func)).script()
    assert 'T.type_annotation("float32"), buf_dyn_shmem, 0, 8, 2)' in text
    assert 'T.type_annotation("float16"), buf_dyn_shmem, 18, 6, 2)' in text
    assert "T.handle_add_byte_offset(buf_dyn_shmem, 32)" in text


def test_static_memory_by_an_option() -> None:
    @T.prim_func
    def func(A: T.Buffer((8,), "float32")):
        tx = T.launch_thread("threadIdx.x", 8)
        X = T.allocate([8], "float32", "shared")
        Y = T.allocate([8], "float32", "shared")
        x = T.decl_buffer((8,), "float32", data=X, scope="shared")
        y = T.decl_buffer((8,), "float32", data=Y, scope="shared")
        x[tx] = A[tx]
        y[tx] = x[7 - tx]
        A[tx] = x[tx] + y[tx]

    mod = IRModule.from_expr(func)
    assert "buf_shmem" not in MergeSharedMemoryAllocations()(mod).script()
    with PassContext(config={"tir.merge_static_smem": True}):
        text = MergeSharedMemoryAllocations()(mod).script()
    assert 'buf_shmem = T.allocate([64], "uint8", "shared")' in text


def test_copies_that_run_beside_the_program() -> None:
    @T.prim_func
    def func(P: T.Buffer((128,), "float32")):
        A = T.allocate([32], "float32", "shared.dyn")
        B = T.allocate([32], "float32", "shared.dyn")
        T.launch_thread("blockIdx.x", 1)
        tx = T.launch_thread("threadIdx.x", 32)
        T.evaluate(T.ptx_cp_async("float32", A, tx, P.data, tx, 16))
        T.evaluate(T.ptx_cp_async("float32", B, tx, P.data, tx, 16))

    made = MergeSharedMemoryAllocations()(IRModule.from_expr(func)).script()
    assert 'buf_dyn_shmem = T.allocate([256], "uint8", "shared.dyn")' in made
    assert made.index("launch_thread") < made.index("T.allocate")
    assert 'T.ptx_cp_async("float32", buf_dyn_shmem, tx * 4, P.data, tx, 16)' in made
    assert 'T.ptx_cp_async("float32", buf_dyn_shmem, (32 + tx) * 4, P.data, tx, 16)' in made
