"""CUDA text compiled in this process; what needs NVRTC is left out where it is not installed."""

from __future__ import annotations

import pytest

from tvm.contrib import nvrtc
from tvm.error import TVMError
from tvm.ffi import get_global_func
from tvm.target import Target

pytestmark = pytest.mark.cpu
needs_nvrtc = pytest.mark.skipif(not nvrtc.available(), reason="NVRTC is not installed")
TEXT = """#include <cuda_fp16.h>
extern "C" __global__ void twice(half* x) { x[threadIdx.x] = __hadd(x[threadIdx.x], x[0]); }
"""


@needs_nvrtc
def test_text_becomes_binaries() -> None:
    assert b".visible .entry twice(" in nvrtc.compile_source(TEXT, "ptx", "sm_80")
    assert b".target sm_80" in nvrtc.compile_source(TEXT, "ptx", "sm_80")
    assert nvrtc.compile_source(TEXT, "cubin", "sm_90").startswith(b"\x7fELF")
    assert nvrtc.compile_source(TEXT).startswith(b"\x7fELF")
    compiled = get_global_func("tvm_callback_cuda_compile")(TEXT, Target("cuda -arch=sm_90"))
    assert bytes(compiled).startswith(b"\x7fELF")


@needs_nvrtc
def test_a_machine_that_is_newer_gets_text() -> None:
    newest = max(nvrtc.supported_archs())
    made = nvrtc.compile_source(TEXT, "cubin", f"sm_{newest + 50}")
    assert f".target sm_{newest}".encode() in made


@needs_nvrtc
def test_mistakes_of_the_text_are_told() -> None:
    with pytest.raises(TVMError, match='identifier "y" is undefined'):
        nvrtc.compile_source("__global__ void f(float* x) { x[0] = y; }")
    with pytest.raises(ValueError, match="arch='gfx90a'"):
        nvrtc.compile_source(TEXT, "cubin", "gfx90a")


def test_what_is_asked_for_is_checked() -> None:
    with pytest.raises(ValueError, match="target_format='fatbin'"):
        nvrtc.compile_source(TEXT, "fatbin")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "_library", lambda: None)
    assert not nvrtc.available()
    with pytest.raises(TVMError, match=r"not installed here[\s\S]*tvm-py\[cuda\]"):
        nvrtc.compile_source(TEXT)
