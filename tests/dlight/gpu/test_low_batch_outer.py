"""Packed matrices whose columns lie side by side: words of eight elements along the sum."""

from __future__ import annotations

import pytest

from tests.dlight.gpu.lowered import CUDA, check, target
from tests.dlight.gpu.workloads import dequantized
from tvm.dlight.gpu import LowBatchGEMV


@pytest.mark.parametrize("kind", ["webgpu", "metal"])
@pytest.mark.parametrize(("columns", "steps"), [(70, 128), (32, 96)])
def test_sums_of_words(kind: str, columns: int, steps: int) -> None:
    func = dequantized(columns, steps, transposed=False, rows="n")
    check(LowBatchGEMV(2), func, target(kind), sizes={"n": 3})


@pytest.mark.parametrize(
    ("kind", "columns", "lanes", "shared"), [("cuda", 32, 1, False), ("metal", 64, 4, True)]
)
def test_threads(kind: str, columns: int, lanes: int, shared: bool) -> None:
    """Four threads share a sum; a word is unpacked by `lanes` at a time, rows may be shared."""
    on = CUDA if kind == "cuda" else target(kind)
    sch = LowBatchGEMV().apply(dequantized(4096, 4096, transposed=False, rows="n"), on, False)
    assert sch is not None
    text = sch.mod.script()
    assert f'T.thread_binding({columns}, thread="threadIdx.x")' in text
    assert 'T.thread_binding(4, thread="threadIdx.y")' in text
    assert f"T.vectorized({lanes})" in text
    assert ('scope="shared"' in text) == shared
    assert text.count('T.block("dequantize")') == text.count('T.block("words_local")') == 1
