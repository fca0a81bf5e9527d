from __future__ import annotations

import pytest

from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import InjectPermutedLayout

pytestmark = pytest.mark.pure


class TestRowsOf64(PassTest):
    run = InjectPermutedLayout()

    @T.prim_func
    def Before(A: T.Buffer((16, 64), "float16"), C: T.Buffer((16, 64), "float16")) -> None:
        with T.block("root"):
            T.reads()
            T.writes()
            S = T.alloc_buffer((16, 64), "float16", scope="shared.dyn")
            for i, j in T.grid(16, 64):
                with T.block("in"):
                    T.reads(A[i, j])
                    T.writes(S[i, j])
                    T.block_attr({"permuted_layout": 1})
                    S[i, j] = A[i, j]
            for i, j in T.grid(16, 64):
                with T.block("out"):
                    T.reads(S[i, j])
                    T.writes(C[i, j])
                    T.block_attr({"permuted_layout": "s2l_A"})
                    C[i, j] = S[i, j]

    @T.prim_func
    def Expected(A: T.Buffer((16, 64), "float16"), C: T.Buffer((16, 64), "float16")) -> None:
        with T.block("root"):
            T.reads()
            T.writes()
            S = T.alloc_buffer((16, 64), "float16", scope="shared.dyn")
            for i, j in T.grid(16, 64):
                with T.block("in"):
                    T.reads(A[i, j])
                    T.writes(S[i, j])
                    S[i, T.bitwise_xor(j // 8, i % 8) * 8 + j % 8] = A[i, j]
            for i, j in T.grid(16, 64):
                with T.block("out"):
                    T.reads(S[i, j])
                    T.writes(C[i, j])
                    C[i, j] = S[i, T.bitwise_xor(j // 8, i % 8) * 8 + j % 8]


class TestRowsOf32(PassTest):
    run = InjectPermutedLayout()

    @T.prim_func
    def Before(A: T.Buffer((16, 32), "float16"), C: T.Buffer((16, 32), "float16")) -> None:
        with T.block("root"):
            T.reads()
            T.writes()
            T.block_attr({"permuted_layout": 1})
            S = T.alloc_buffer((16, 32), "float16", scope="shared")
            L = T.alloc_buffer((16, 32), "float16", scope="local")
            for i, j in T.grid(16, 32):
                S[i, j] = A[i, j]
            for i, j in T.grid(16, 32):
                L[i, j] = S[i, j]
            for i, j in T.grid(16, 32):
                C[i, j] = L[i, j]

    def test_pairs_of_rows(self) -> None:
        text = self._after().script()
        assert "S[i, T.bitwise_xor(j // 8, i % 8 // 2) * 8 + j % 8]" in text
        assert "C[i, j] = L[i, j]" in text


def test_pointers() -> None:
    @T.prim_func
    def load() -> None:
        with T.block("root"):
            T.reads()
            T.writes()
            T.block_attr({"permuted_layout": 1})
            S = T.alloc_buffer((16, 64), "float16", scope="shared")
            L = T.alloc_buffer((8,), "float16", scope="local")
            for i in range(16):
                T.ptx_ldmatrix("float16", False, 4, ".b16", L.data, 0, S.access_ptr("r"), i * 64)

    text = InjectPermutedLayout()(IRModule({"main": load})).script()
    assert "S.data, i * 64 + T.bitwise_xor(0, i % 8) * 8, " in text
    assert text.endswith("1024, 1), 0)")


@pytest.mark.parametrize("shape", [(15, 32), (16, 24)])
def test_rows_that_do_not_fit(shape: tuple[int, int]) -> None:
    @T.prim_func
    def odd(A: T.Buffer(shape, "float16")) -> None:
        with T.block("root"):
            T.reads()
            T.writes()
            T.block_attr({"permuted_layout": 1})
            S = T.alloc_buffer(shape, "float16", scope="shared")
            S[0, 0] = A[0, 0]

    with pytest.raises(TVMError, match="rows of a multiple of 64"):
        InjectPermutedLayout()(IRModule({"main": odd}))
