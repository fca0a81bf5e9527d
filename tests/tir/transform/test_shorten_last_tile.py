"""Tiles whose rows are not all there."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm.dlight.cpu import GEMM
from tvm.script import tir as T
from tvm.target import Target
from tvm.testing.pass_test import PassTest
from tvm.tir.transform.shorten_last_tile import ShortenLastTile


@pytest.mark.pure
class TestFewRows(PassTest):
    """A tile of three rows with one row left computes one, with two left two."""

    run = ShortenLastTile()

    @T.prim_func
    def Before(a: T.handle, c: T.handle):
        m = T.int64()
        A = T.match_buffer(a, (m,), "float32")
        C = T.match_buffer(c, (m,), "float32")
        for t in T.serial((m + 2) // 3, annotations={"tile_rows": 3}):
            s = T.allocate([3], "float32", "local")
            S = T.Buffer((3,), data=s, scope="local")
            for i in T.unroll(T.int64(3), annotations={"row_of_tile": True}):
                S[i] = A[T.min(t * 3 + i, m - 1)]
            for i in T.unroll(T.int64(3), annotations={"row_of_tile": True}):
                if t * 3 + i < m:
                    C[t * 3 + i] = S[i]

    @T.prim_func
    def Expected(a: T.handle, c: T.handle):
        m = T.int64()
        A = T.match_buffer(a, (m,), "float32")
        C = T.match_buffer(c, (m,), "float32")
        for t in range((m + 2) // 3):
            if T.int64(2) < m - t * 3:  # all are there
                s = T.allocate([3], "float32", "local")
                S = T.Buffer((3,), data=s, scope="local")
                for i in T.unroll(T.int64(3)):
                    S[i] = A[t * 3 + i]
                for i in T.unroll(T.int64(3)):
                    C[t * 3 + i] = S[i]
            else:
                if T.int64(1) < m - t * 3:
                    s_1 = T.allocate([3], "float32", "local")
                    S_1 = T.Buffer((3,), data=s_1, scope="local")
                    for i in T.unroll(T.int64(2)):
                        S_1[i] = A[T.min(t * 3 + i, m - 1)]
                    for i in T.unroll(T.int64(2)):
                        if t * 3 + i < m:
                            C[t * 3 + i] = S_1[i]
                else:
                    s_2 = T.allocate([3], "float32", "local")
                    S_2 = T.Buffer((3,), data=s_2, scope="local")
                    for i in T.unroll(T.int64(1)):
                        S_2[i] = A[T.min(t * 3 + i, m - 1)]
                    for i in T.unroll(T.int64(1)):
                        if t * 3 + i < m:
                            C[t * 3 + i] = S_2[i]


@pytest.mark.pure
class TestWholeTiles(PassTest):
    """Without a condition of what is stored all tiles are whole: the annotations go."""

    run = ShortenLastTile()

    @T.prim_func
    def Before(A: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
        for t in T.serial(4, annotations={"tile_rows": 3}):
            for i in T.unroll(3, annotations={"row_of_tile": True}):
                C[t * 3 + i] = A[t * 3 + i]

    @T.prim_func
    def Expected(A: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
        for t in range(4):
            for i in T.unroll(3):
                C[t * 3 + i] = A[t * 3 + i]


@pytest.mark.pure
def test_tiles_of_four_rows_have_code_for_when_all_are_there():
    @T.prim_func
    def few(a: T.handle, c: T.handle):
        m = T.int64()
        A = T.match_buffer(a, (m,), "float32")
        C = T.match_buffer(c, (m,), "float32")
        for t in T.serial((m + 3) // 4, annotations={"tile_rows": 4}):
            for i in T.unroll(T.int64(4), annotations={"row_of_tile": True}):
                if t * 4 + i < m and t != m:
                    C[t * 4 + i] = A[T.min(t * 4 + i, m - 1)] + A[T.min(t * 4 + i, m - 2)]

    text = ShortenLastTile()(tvm.IRModule({"main": few})).script()
    whole, rest = text.split("if T.int64(3) < m - t * T.int64(4):")[1].split("else:", 1)
    assert "if t != m:" in whole  # the other condition stays
    assert "A[t * T.int64(4) + i] + A[T.min(" in whole  # the row before the last may be another
    assert rest.count("if t * T.int64(4) + i < m and t != m:") == 3  # of four, two and one
    assert "T.int64(2) < m" in rest
    assert "T.int64(1) < m" in rest


@T.prim_func
def product(a: T.handle, B: T.Buffer((20, 24), "float32"), c: T.handle):
    m = T.int64()
    A = T.match_buffer(a, (m, 20), "float32")
    C = T.match_buffer(c, (m, 24), "float32")
    S = T.alloc_buffer((m, 24), "float32")
    for i, j, k in T.grid(m, 24, 20):
        with T.block("product"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                S[vi, vj] = T.float32(0)
            S[vi, vj] = S[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(m, 24):
        with T.block("relu"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.max(S[vi, vj], T.float32(0))


@pytest.mark.cpu
@pytest.mark.parametrize("cpu", ["nehalem", "haswell"])
def test_products_of_any_number_of_rows(cpu):
    """The rule asks for it, and every number of rows left gives the product."""
    target = Target(f"llvm -mcpu={cpu}")
    sch = GEMM().apply(product, target, False)
    assert '"tile_rows"' in sch.mod["main"].script()
    built = tvm.compile(sch.mod, target)
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((20, 24)).astype("float32")
    for rows in range(1, 15):
        x = rng.standard_normal((rows, 20)).astype("float32")
        out = tvm.runtime.empty((rows, 24), "float32")
        built["main"](tvm.runtime.tensor(x), tvm.runtime.tensor(weights), out)
        np.testing.assert_allclose(out.numpy(), np.maximum(x @ weights, 0), rtol=1e-4, atol=1e-5)
