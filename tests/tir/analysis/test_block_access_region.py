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
    assert (show(reads), show(writes), show(opaque)) == ([], ["B[0:+16]"], ["A[0:+16]"])
    reads, writes = get_block_read_write_region(block, buffers_of(calls))
    assert show(reads) == ["A[0:+16]"]
    assert show(writes) == ["B[0:+16]", "A[0:+16]"]


@T.prim_func
def pointers() -> None:
    A, B, C = T.alloc_buffer((8,)), T.alloc_buffer((8,)), T.alloc_buffer((8,))
    with T.block("pointers"):
        T.reads(A[0:8], C[0:8])
        T.writes(B[0:8], C[0:8])
        T.evaluate(A.access_ptr("r"))
        T.evaluate(B.access_ptr("w"))
        T.evaluate(C.access_ptr("rw"))


def test_a_pointer_for_both_ways_is_opaque() -> None:
    block = block_of(pointers, "pointers")
    buffers = {b.data: b for b in pointers.body.block.alloc_buffers}  # type: ignore[attr-defined]
    found = get_block_access_region(block, buffers)
    assert list(map(show, found)) == [["A[0:+8]"], ["B[0:+8]"], ["C[0:+8]"]]
    reads, writes = get_block_read_write_region(block, buffers)
    assert (show(reads), show(writes)) == (show(block.reads), show(block.writes))


@T.prim_func
def views(A: T.Buffer((16, 16), "float32"), B: T.Buffer((2, 16, 16), "float32")) -> None:
    with T.block("view"):
        T.reads()
        T.writes()
        V = T.match_buffer(A[2:6, 4:8], (4, 4), strides=[16, 1], offset_factor=1)
        W = T.match_buffer(B[1, 2:6, 4:8], (4, 4), strides=[16, 1], offset_factor=1)
        T.evaluate(T.call_extern("int32", "f", V.data))
        for i in range(2):
            W[i + 1, 3] = W[i, 0]


def test_views_stand_for_what_they_view() -> None:
    block, buffers = block_of(views, "view"), buffers_of(views)
    reads, writes, opaque = get_block_access_region(block, buffers)
    assert show(reads) == ["B[1:+1, 2:+2, 4:+1]"]
    assert show(writes) == ["B[1:+1, 3:+2, 7:+1]"]
    assert show(opaque) == ["A[2:+4, 4:+4]"]
    only = {data: buffer for data, buffer in buffers.items() if buffer.name == "A"}
    reads, writes, opaque = get_block_access_region(block, only)
    assert (show(reads), show(writes), show(opaque)) == ([], [], ["A[2:+4, 4:+4]"])


@T.prim_func
def computed_places(
    A: T.Buffer((8,), "float32"), F: T.Buffer((8,), "float32"), P: T.Buffer((8,), "int32"),
    C: T.Buffer((8,), "float32"),
) -> None:  # fmt: skip
    for i in range(8):
        with T.block("floored"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[T.Cast("int32", T.floor(F[vi]))] + A[T.Cast("int32", T.floor(F[vi])) + 1]
        with T.block("table"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[P[vi]] + A[P[vi] + 1]


def test_places_from_floats_are_anywhere_and_those_of_tables_one() -> None:
    buffers = buffers_of(computed_places)
    for name, region in (("floored", "A[0:+8]"), ("table", "A[P[vi]:+2]")):
        reads, _, _ = get_block_access_region(block_of(computed_places, name), buffers)
        assert region in show(reads)
