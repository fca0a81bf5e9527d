"""What HIP says differently from CUDA."""

from __future__ import annotations

import pytest

from tests.backend.device.harness import source_of
from tests.backend.device.programs import PROGRAMS
from tvm.ir.module import IRModule
from tvm.script import tir as T

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


def test_extremes_that_headers_have_no_function_of_one_type_for() -> None:
    @T.prim_func
    def least(A: T.Buffer((4,), "int64"), H: T.Buffer((4,), "float16"), B: T.Buffer((4,), "int64"),
              G: T.Buffer((4,), "float16")) -> None:  # fmt: skip
        for i in T.thread_binding(4, thread="threadIdx.x"):
            B[i] = T.min(A[i] + T.int64(1), T.int64(7))
            G[i] = T.max(H[i], T.float16(0))

    text = source_of(IRModule({"main": least}), "rocm")
    assert "min((int64_t)(A[" in text, text
    assert ", (int64_t)7ll)" in text
    assert "__hmax" not in text
