"""What HIP says differently from CUDA."""

from __future__ import annotations

import pytest

from tests.backend.device.harness import source_of
from tests.backend.device.programs import PROGRAMS
from tvm.ir.module import IRModule

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("add_one", "#include <hip/hip_runtime.h>"),
        ("halves", "#include <hip/hip_fp16.h>"),
        ("warp_memory", "__shfl(A["),
        ("sum_of_rows", "__builtin_amdgcn_wave_barrier();"),
        ("dot_of_bytes", "(0 + ((int)v_.x * ((int)v__1.x)) + "),
    ],
)
def test_words(name: str, word: str) -> None:
    text = source_of(IRModule({name: PROGRAMS[name].func}), "rocm")
    assert word in text, text
    assert "_sync(" not in text
