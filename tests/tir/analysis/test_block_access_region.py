"""Regions that blocks read and write."""

import pytest

from tests.tir.analysis.programs import matmul
from tvm.script import tir as T
from tvm.tir import Block
from tvm.tir.analysis import get_block_access_region, get_block_read_write_region
from tvm.tir.functor import walk

pytestmark = pytest.mark.pure


def block_of(func, name: str):
    return next(n for n in walk(func.body) if isinstance(n, Block) and n.name_hint == name)


def buffers_of(func) -> dict:
    root = func.body.block
    return {b.data: b for b in (*func.buffer_map.values(), *root.alloc_buffers)}


def show(regions) -> list[str]:
    return [
        f"{r.buffer.name}[{', '.join(f'{d.min}:+{d.extent}' for d in r.region)}]" for r in regions
    ]


def test_points() -> None:
    reads, writes = get_block_read_write_region(block_of(matmul, "D"), buffers_of(matmul))
    assert show(reads) == ["A[vi:+1, vk:+1]", "B[vk:+1, vj:+1]"]
    assert show(writes) == ["D[vi:+1, vj:+1]"]


@T.prim_func
def windows(A: T.Buffer((18,), "float32"), B: T.Buffer((16,), "float32")) -> None:
    for i in range(4):
        with T.block("tile"):
            v = T.axis.spatial(4, i)
            T.reads(A[v * 4 : v * 4 + 6])
            T.writes(B[v * 4 : v * 4 + 4])
            for j, k in T.grid(4, 3):
                B[v * 4 + j] = B[v * 4 + j] + A[v * 4 + j + k]


def test_inner_loops_are_widened() -> None:
    reads, writes = get_block_read_write_region(block_of(windows, "tile"), buffers_of(windows))
    assert show(reads) == ["B[v * 4:+4]", "A[v * 4:+6]"]
    assert show(writes) == ["B[v * 4:+4]"]


@T.prim_func
def calls(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")) -> None:
    with T.block("call"):
        T.reads()
        T.writes()
        T.evaluate(T.call_extern("int32", "f", A.data, B.access_ptr("w")))


def test_addresses() -> None:
    block = block_of(calls, "call")
    reads, writes, opaque = get_block_access_region(block, buffers_of(calls))
    assert show(reads) == []
    assert show(writes) == ["B[0:+16]"]
    assert show(opaque) == ["A[0:+16]"]
