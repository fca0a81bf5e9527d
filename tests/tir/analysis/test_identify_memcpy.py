"""Loop nests that are copies, and why others are not."""

from __future__ import annotations

import re

import pytest

from tvm.script import tir as T
from tvm.tir import StringImm
from tvm.tir.analysis import _ffi_api
from tvm.tir.analysis.identify_memcpy import identify_memcpy

pytestmark = pytest.mark.pure
V = T.Buffer((64,), "float32")
M = T.Buffer((8, 8), "float32")


def test_every_loop_has_an_answer() -> None:
    whole, row = _ffi_api._identify_memcpy(matrix.body)
    assert tuple(map(str, whole)) == ("A[0:8, 0:8]", "B[0:8, 0:8]")
    assert tuple(map(str, row)) == ("A[i, 0:8]", "B[i, 0:8]")
    nest, line = _ffi_api._identify_memcpy(transposed.body)
    for reason, words in ((nest, "same order"), (line, "Mismatch between loop iterations")):
        assert isinstance(reason, StringImm)
        assert words in reason.value


@T.prim_func
def plain(A: V, B: V):
    for i in range(64):
        B[i] = A[i]


@T.prim_func
def part(A: V, B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = A[i + 32]


@T.prim_func
def tiled(A: V, B: V):
    for i, j in T.grid(8, 8):
        B[i * 8 + j] = A[i * 8 + j]


@T.prim_func
def matrix(A: M, B: M):
    for i, j in T.grid(8, 8):
        B[i, j] = A[i, j]


@T.prim_func
def rows(A: M, B: M):
    for i, j in T.grid(2, 8):
        B[i, j] = A[i + 4, j]


@pytest.mark.parametrize(("func", "source", "target"), [
    (plain, "A[0:64]", "B[0:64]"),
    (part, "A[32:48]", "B[0:16]"),
    (tiled, "A[0:64]", "B[0:64]"),
    (matrix, "A[0:8, 0:8]", "B[0:8, 0:8]"),
    (rows, "A[4:6, 0:8]", "B[0:2, 0:8]"),
])  # fmt: skip
def test_copies(func, source, target) -> None:
    [found] = identify_memcpy(func.body)
    assert tuple(map(str, found)) == (source, target)


@T.prim_func
def computed(A: V, B: V):
    for i in range(64):
        B[i] = A[i] + T.float32(1)


@T.prim_func
def guarded(A: V, B: V):
    for i in range(64):
        if i < 8:
            B[i] = A[i]


@T.prim_func
def strided(A: V, B: T.Buffer((32,), "float32")):
    for i in range(32):
        B[i] = A[i * 2]


@T.prim_func
def spread(A: V, B: V):
    for i in range(32):
        B[i * 2] = A[i]


@T.prim_func
def transposed(A: M, B: M):
    for i, j in T.grid(8, 8):
        B[j, i] = A[i, j]


@T.prim_func
def columns(A: M, B: M):
    for i, j in T.grid(8, 2):
        B[i, j] = A[i, j]


@pytest.mark.parametrize(("func", "text"), [
    (computed, "Expected BufferStore's value to be BufferLoad"),
    (guarded, "Expected innermost loop to have BufferStore body"),
    (strided, r"Mismatch between loop iterations \(32\) and number of src indices touched .*: 63"),
    (spread, r"Mismatch between loop iterations \(32\) and number of dst indices touched .*: 63"),
    (transposed, "same order"),
    (columns, "Mismatch between loop iterations|DetectIterMap"),
])  # fmt: skip
def test_no_copies(func, text) -> None:
    [found] = identify_memcpy(func.body)
    assert isinstance(found, str)
    assert re.search(text, found), found
