from __future__ import annotations

import pytest

from tests.dlight.gpu.lowered import CUDA, KINDS, check, target
from tests.dlight.gpu.workloads import layer_norm, rms_norm
from tests.dlight.programs import softmax
from tvm.dlight.gpu import RMSNorm
from tvm.dlight.gpu.rmsnorm import identify_cast_or_load_block, identify_rsqrt_block
from tvm.tir.schedule import Schedule


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "cuda"])
def test_norms(kind: str) -> None:
    check(RMSNorm(), rms_norm(1, 520), target(kind))
    check(RMSNorm(), rms_norm(1, 512, "float16"), target(kind), rtol=1e-2)


def test_symbolic_rows() -> None:
    after = check(RMSNorm(), rms_norm("n", 4096), CUDA, sizes={"n": 1})
    text = str(after)
    assert 'T.thread_binding(n, thread="blockIdx.x")' in text
    assert 'T.thread_binding(512, thread="threadIdx.x")' in text


def test_blocks_are_recognised() -> None:
    sch = Schedule(rms_norm(2, 64, "float16"))
    assert identify_cast_or_load_block(sch.get(sch.get_block("wide")))
    assert not identify_cast_or_load_block(sch.get(sch.get_block("norm")))
    assert identify_rsqrt_block(sch.get(sch.get_block("rsqrt")))
    assert not identify_rsqrt_block(sch.get(sch.get_block("square")))


def test_other_functions_are_left() -> None:
    assert RMSNorm().apply(softmax(4, 8), CUDA, False) is None
    assert RMSNorm().apply(layer_norm(4, 8), CUDA, False) is None
