"""Lowest common ancestors of buffer uses."""

import pytest

from tests.tir.analysis.programs import matmul
from tvm import tir
from tvm.script import tir as T
from tvm.tir.analysis import detect_buffer_access_lca

pytestmark = pytest.mark.pure


def test_reduction_holds_its_buffer_outside() -> None:
    found = {buffer.name: scope for buffer, scope in detect_buffer_access_lca(matmul).items()}
    root = matmul.body.block
    assert found["D"] is root
    first, second = root.body.seq
    assert found["A"] is first.body.body.body.block
    assert found["C"] is second.body.body.block


@T.prim_func
def tiles(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")) -> None:
    C = T.alloc_buffer((64,), "float32")
    for i in range(8):
        for j in range(8):
            with T.block("copy"):
                v = T.axis.spatial(64, i * 8 + j)
                C[v] = A[v]
        for j in range(8):
            with T.block("double"):
                v = T.axis.spatial(64, i * 8 + j)
                B[v] = C[v] + C[v]


def test_loop_around_two_blocks() -> None:
    found = {buffer.name: scope for buffer, scope in detect_buffer_access_lca(tiles).items()}
    assert found["C"] is tiles.body.block.body
    assert found["B"] is tiles.body.block.body.body.seq[1].body.block


@T.prim_func
def opaque(a: T.handle, b: T.handle) -> None:
    A = T.match_buffer(a, (16,), "float32")
    B = T.match_buffer(b, (16,), "float32")
    for i in range(16):
        B[i] = A[0]
    T.evaluate(T.call_extern("int32", "touch", A.data))


def test_address_counts_as_use() -> None:
    found = {buffer.name: scope for buffer, scope in detect_buffer_access_lca(opaque).items()}
    assert found["A"] is None or found["A"] is getattr(opaque.body, "block", None)
    assert found["B"] is not found["A"]


def test_a_view_is_a_use_of_the_memory_that_it_looks_at() -> None:
    @T.prim_func
    def func(b: T.handle) -> None:
        B = T.match_buffer(b, (4,), "float32")
        A = T.alloc_buffer((4,), "float32")
        for i in range(4):
            with T.block("write"):
                vi = T.axis.spatial(4, i)
                A[vi] = T.float32(1)
        view = T.decl_buffer((2, 2), "float32", data=A.data)
        for i in range(4):
            with T.block("read"):
                vi = T.axis.spatial(4, i)
                B[vi] = view[vi // 2, vi % 2]

    found = {buffer.name: place for buffer, place in detect_buffer_access_lca(func).items()}
    assert isinstance(found["A"], tir.Block)
    assert found["A"].name_hint == "root"


@pytest.mark.parametrize(("scope", "around"), [("global", "bx"), ("shared", "tx")])
def test_global_memory_belongs_to_all_blocks_of_threads(scope: str, around: str) -> None:
    @T.prim_func
    def func(A: T.Buffer((64,), "float32")) -> None:
        S = T.alloc_buffer((64,), "float32", scope=scope)
        for bx in T.thread_binding(2, thread="blockIdx.x"):
            for by in T.thread_binding(1, thread="blockIdx.y"):
                for tx in T.thread_binding(32, thread="threadIdx.x"):
                    with T.block("write"):
                        v = T.axis.spatial(64, bx * 32 + tx)
                        S[v] = A[v]
                    with T.block("read"):
                        v = T.axis.spatial(64, bx * 32 + tx)
                        A[v] = S[v]

    found = {buffer.name: place for buffer, place in detect_buffer_access_lca(func).items()}
    assert found["S"].loop_var.name == around
    assert found["A"].loop_var.name == "bx"
