from __future__ import annotations

import pytest

import tvm
from tvm.script import tir as T
from tvm.tir.transform import LowerAutoCopy

pytestmark = pytest.mark.pure


@T.prim_func
def through_fragments(A: T.Buffer((32, 64), "float16"), C: T.Buffer((32, 64), "float16")) -> None:
    A_shared = T.alloc_buffer((32, 64), "float16", scope="shared.dyn")
    C_shared = T.alloc_buffer((32, 64), "float16", scope="shared.dyn")
    A_wmma = T.alloc_buffer((32, 64), "float16", scope="wmma.matrix_a")
    B_wmma = T.alloc_buffer((32, 64), "float16", scope="wmma.matrix_b")
    C_wmma = T.alloc_buffer((32, 64), "float16", scope="wmma.accumulator")
    with T.block("load_a"):
        T.reads(A_shared[0:32, 0:64])
        T.writes(A_wmma[0:32, 0:64])
        T.block_attr({"auto_copy": True})
        for i, j in T.grid(32, 64):
            A_wmma[i, j] = A_shared[i, j]
    with T.block("load_b"):
        T.reads(A_shared[0:32, 0:64])
        T.writes(B_wmma[0:32, 0:64])
        T.block_attr({"auto_copy": True})
        for i, j in T.grid(32, 64):
            B_wmma[i, j] = A_shared[i, j]
    with T.block("store"):
        T.reads(C_wmma[0:32, 0:64])
        T.writes(C_shared[0:32, 0:64])
        T.block_attr({"auto_copy": True})
        for i, j in T.grid(32, 64):
            C_shared[i, j] = C_wmma[i, j]


def test_tiles_of_fragments() -> None:
    text = LowerAutoCopy()(tvm.IRModule({"main": through_fragments}))["main"].script()
    assert "strides=(72, 1)" in text
    assert text.count("in T.grid(2, 4):") == 3
    for part in (
        'with T.block("wmma_load"):',
        "src = T.match_buffer(A_shared[i * 16:i * 16 + 16, j * 16:j * 16 + 16]",
        'src.elem_offset, src.strides[0] * 16, 1), src.strides[0], "row_major")',
        'src.elem_offset, src.strides[0] * 16, 1), src.strides[0], "col_major")',
        'with T.block("wmma_store"):',
        "T.tvm_store_matrix_sync(src",
    ):
        assert part in text, text


def test_tiles_of_global_memory() -> None:
    """Loads and stores of fragments take any memory, whose rows keep their distance."""
    text = through_fragments.script().replace(', scope="shared.dyn"', "")
    found = LowerAutoCopy()(tvm.IRModule({"main": tvm.script.from_source(text)}))["main"].script()
    assert "strides=(72, 1)" not in found
    assert found.count("T.tvm_load_matrix_sync(") == 2
    assert found.count("T.tvm_store_matrix_sync(") == 1
    assert "tgt = T.match_buffer(C_shared[i * 16:i * 16 + 16, j * 16:j * 16 + 16]" in found


def test_parts_of_tiles_stay() -> None:
    text = through_fragments.script().replace("(32, 64)", "(32, 60)").replace("0:64", "0:60")
    func = tvm.script.from_source(text)
    found = LowerAutoCopy()(tvm.IRModule({"main": func}))["main"]
    tvm.ir.assert_structural_equal(found, func)
