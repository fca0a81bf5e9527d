"""Instructions of PTX as inline assembly."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.backend.device.harness import source_of
from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


@T.prim_func
def mma(A: T.Buffer((16, 16), "float16"), B: T.Buffer((8, 16), "float16"),
        C: T.Buffer((16, 8), "float32")):  # fmt: skip
    T.func_attr({"tir.noalias": True})
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("C"):
            T.reads(A[0:16, 0:16], B[0:8, 0:16])
            T.writes(C[0:16, 0:8])
            a = T.alloc_buffer((8,), "float16", scope="local")
            b = T.alloc_buffer((4,), "float16", scope="local")
            c = T.alloc_buffer((4,), "float32", scope="local")
            tile = T.alloc_buffer((16, 16), "float16", scope="shared")
            for i in range(8):
                tile[tx // 2, tx % 2 * 8 + i] = A[tx // 2, tx % 2 * 8 + i]
            T.ptx_ldmatrix("float16", False, 4, ".b16", a.data, 0, tile.data,
                           tx % 16 * 16 + tx // 16 * 8)  # fmt: skip
            for i in range(4):
                b[i] = B[tx // 4, i // 2 * 8 + tx % 4 * 2 + i % 2]
                c[i] = T.float32(0)
            T.ptx_mma("float32", "m16n8k16", "row", "col", "fp16", "fp16", "fp32", a.data, 0,
                      b.data, 0, c.data, 0, False)  # fmt: skip
            for i in range(4):
                C[i // 2 * 8 + tx // 4, tx % 4 * 2 + i % 2] = c[i]


@T.prim_func
def copies(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    T.func_attr({"tir.noalias": True})
    for tx in T.thread_binding(16, thread="threadIdx.x"):
        with T.block("B"):
            T.reads(A[tx * 4 : tx * 4 + 4])
            T.writes(B[tx * 4 : tx * 4 + 4])
            tile = T.alloc_buffer((64,), "float32", scope="shared")
            T.ptx_cp_async("float32", tile.data, tx * 4, A.data, tx * 4, 16)
            T.ptx_cp_async("float32", tile.data, tx * 4, A.data, tx * 4, 4, tx < 8)
            T.ptx_commit_group()
            T.ptx_wait_group(0)
            for i in range(4):
                B[tx * 4 + i] = tile[tx * 4 + i]


@T.prim_func
def barriers(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for tx in T.thread_binding(16, thread="threadIdx.x"):
        with T.block("B"):
            T.reads(A[0:64])
            T.writes(B[tx])
            tile = T.alloc_buffer((64,), "float32", scope="shared")
            T.create_barriers(1)
            T.ptx_init_barrier_thread_count(0, 16)
            T.ptx_cp_async_bulk("float32", tile.data, 0, A.data, 0, 256, 0)
            T.ptx_arrive_barrier_expect_tx(0, 256)
            T.ptx_cp_async_barrier(0)
            T.ptx_arrive_barrier(0)
            T.ptx_wait_barrier(0)
            B[tx] = tile[tx]


@pytest.mark.parametrize("name", ["mma", "copies", "barriers"])
def test_text(name: str, golden: Callable[[str], None]) -> None:
    func = {"mma": mma, "copies": copies, "barriers": barriers}[name]
    golden(source_of(IRModule({"main": func}), "cuda"))


@pytest.mark.parametrize(
    ("shape", "kind", "words"),
    [
        ("m16n8", "fp16", "mma of shape 'm16n8'\n *found: no such shape"),
        ("m16n8k16", "float5", "mma on float5\n *found: no such type of matrix"),
    ],
)
def test_refused(shape: str, kind: str, words: str) -> None:
    @T.prim_func
    def wrong(A: T.Buffer((16,), "float32")):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("A"):
                T.reads()
                T.writes(A[0:16])
                c = T.alloc_buffer((4,), "float32", scope="local")
                T.ptx_mma("float32", shape, "row", "col", kind, "fp16", "fp32", c.data, 0,
                          c.data, 0, c.data, 0, False)  # fmt: skip
                A[0] = c[0]

    with pytest.raises(TVMError, match=words):
        source_of(IRModule({"main": wrong}), "cuda")
