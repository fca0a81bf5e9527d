"""Which loops give every element of a buffer a new value."""

import pytest

from tvm.script import tir as T
from tvm.tir.analysis.overwritten import memory_touched, overwritten

pytestmark = pytest.mark.pure


def test_nests_over_all_elements():
    @T.prim_func
    def nest(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for i in T.parallel(4):
            for j in T.vectorized(8):
                B[i, j] = A[i, j]

    @T.prim_func
    def fused(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 8), "float32")
        B = T.match_buffer(b, (n, 8), "float32")
        for i in range(n * T.int64(8)):
            B[i // T.int64(8), i % T.int64(8)] = A[i // T.int64(8), i % T.int64(8)]

    for func in (nest, fused):
        a, b = (func.buffer_map[param] for param in func.params)
        assert overwritten(func.body).same_as(b)
        assert a.data in memory_touched(func.body)
        assert b.data not in memory_touched(func.body)


def test_what_leaves_something_or_reads_it():
    @T.prim_func
    def part(B: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 7):
            B[i, j] = T.float32(0)

    @T.prim_func
    def same_place(B: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            B[i, 0] = T.float32(0)

    @T.prim_func
    def in_place(B: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            B[i, j] = B[i, j] + T.float32(1)

    @T.prim_func
    def sometimes(B: T.Buffer((4, 8), "float32"), n: T.int32):
        for i, j in T.grid(4, 8):
            if n > 3:
                B[i, j] = T.float32(0)

    for func in (part, same_place, in_place, sometimes):
        assert overwritten(func.body) is None
