from __future__ import annotations

import pytest

from tests.dlight.gpu.lowered import CUDA, KINDS, check, target
from tests.dlight.gpu.workloads import elementwise, layer_norm, product
from tests.dlight.programs import softmax
from tvm.dlight.gpu import GeneralReduction


@pytest.mark.parametrize("kind", KINDS)
def test_softmax(kind: str) -> None:
    after = str(check(GeneralReduction(), softmax(3, 300), target(kind)))
    threads = 256 if kind in ("cuda", "opencl") else 64
    assert f'T.thread_binding({threads}, thread="threadIdx.x")' in after
    assert after.count('scope="shared"') == 2


@pytest.mark.parametrize("kind", KINDS)
def test_layer_norm(kind: str) -> None:
    check(GeneralReduction(), layer_norm(3, 70), target(kind))


def test_symbolic_rows() -> None:
    check(GeneralReduction(), layer_norm("n", 40), CUDA, sizes={"n": 3})


def test_other_functions_are_left() -> None:
    assert GeneralReduction().apply(elementwise(8, 8), CUDA, False) is None
    assert GeneralReduction().apply(product(8, 8, 8), CUDA, False) is None
