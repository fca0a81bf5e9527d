from __future__ import annotations

import pytest

from tests.dlight.gpu.lowered import CUDA, KINDS, check, target
from tests.dlight.gpu.workloads import dequantized, elementwise, product
from tvm.dlight.gpu import LowBatchGEMV


@pytest.mark.parametrize("kind", KINDS)
def test_few_rows(kind: str) -> None:
    check(LowBatchGEMV(), product("n", 3, 64, epilogue=True), target(kind), sizes={"n": 2})


def test_more_rows_than_a_bucket() -> None:
    check(LowBatchGEMV(2), product("n", 3, 64), target("webgpu"), sizes={"n": 5})


def test_weights_of_four_bits() -> None:
    check(LowBatchGEMV(2), dequantized(4, 128, rows="n"), target("vulkan"), sizes={"n": 3})


def test_results_along_memory() -> None:
    func = product("n", 70, 8, transposed=False, epilogue=True)
    check(LowBatchGEMV(), func, CUDA, sizes={"n": 5})
    assert LowBatchGEMV(16).apply(func, CUDA, False) is None


def test_other_functions_are_left() -> None:
    assert LowBatchGEMV().apply(product(4, 8, 64), CUDA, False) is None  # nothing is symbolic
    assert LowBatchGEMV().apply(elementwise("n", 8), CUDA, False) is None
