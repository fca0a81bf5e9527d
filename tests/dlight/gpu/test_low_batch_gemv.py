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


@pytest.mark.parametrize(
    ("kind", "rows", "steps", "threads"),
    [
        ("cuda", 512, 4096, ("threadIdx.y", 16, "threadIdx.x", 32)),
        ("cuda", 8192, 1024, ("threadIdx.y", 4, "threadIdx.x", 64)),
        ("metal", 512, 4096, ("threadIdx.x", 8, "threadIdx.y", 32)),
        ("metal", 8192, 1024, ("threadIdx.y", 8, "threadIdx.x", 32)),
        ("webgpu", 512, 4096, ("threadIdx.y", 1, "threadIdx.x", 64)),
    ],
)
def test_threads(kind: str, rows: int, steps: int, threads: tuple[str, int, str, int]) -> None:
    """Threads over the columns, of which each has two, and over the sum."""
    on = CUDA if kind == "cuda" else target(kind)
    sch = LowBatchGEMV().apply(product("n", rows, steps), on, False)
    assert sch is not None
    text = sch.mod.script().replace("T.int64(", "").replace("),", ",")
    tag_s, ts, tag_r, tr = threads
    for extent, tag in ((ts, tag_s), (tr, tag_r), (rows // ts // 2, "blockIdx.x")):
        assert f'T.thread_binding({extent}, thread="{tag}")' in text
