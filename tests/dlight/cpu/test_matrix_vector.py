from __future__ import annotations

import pytest

from tests.dlight.programs import SPR, matmul, scheduled
from tvm.dlight.cpu import MatrixVector
from tvm.dlight.cpu.matrix_vector import ROWS


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("n", "k"), [(10, 32), (37, 29), (64, 128)])
def test_vector_times_matrix(n: int, k: int, transposed: bool) -> None:
    scheduled(MatrixVector(), matmul(1, n, k, transposed=transposed, epilogue=True))


def test_matrix_times_vector() -> None:
    scheduled(MatrixVector(), matmul(20, 1, 48))


def test_large_matrices_go_by_rows() -> None:
    sch = MatrixVector().apply(matmul(1, 4096, 256), SPR, False)
    text = sch.mod.script()
    assert f"T.unroll({ROWS})" in text
    assert "rows of the matrix a pass" in text


def test_products_of_matrices_are_left_to_gemm() -> None:
    assert MatrixVector().apply(matmul(4, 8, 16), SPR, False) is None
