from __future__ import annotations

import pytest

from tests.dlight.gpu.lowered import CUDA, KINDS, check, target
from tests.dlight.gpu.workloads import elementwise, transpose
from tvm.dlight.gpu import Transpose


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(16, 8), (33, 17)])
def test_matrices(kind: str, shape: tuple[int, int]) -> None:
    check(Transpose(), transpose(*shape), target(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_values_taken_out_of_words(kind: str) -> None:
    after = check(Transpose(), transpose(40, 64, decode=True), target(kind))
    assert 'scope="shared"' in str(after)
    assert "T.vectorized(4)" in str(after)


def test_symbolic_extents() -> None:
    after = check(Transpose(), transpose("n", 20), CUDA, sizes={"n": 37})
    text = str(after)
    assert 'T.thread_binding((n + 15) // 16, thread="blockIdx.x"' in text
    assert '"pragma_auto_unroll_max_step": 256' in text
    assert '"buffer_dim_align": [[0, 0, 32, 1]]' in text


def test_a_tile_that_leaves_rests() -> None:
    after = check(Transpose(), transpose(40, 20, decode=True), CUDA)
    assert "ax0_ax1_fused_3 < 320" in str(after)


def test_other_functions_are_left() -> None:
    assert Transpose().apply(elementwise(8, 8), CUDA, False) is None
