"""HIP text by hiprtc, which a stand-in plays."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from tests.runtime.device_api.hip_stand_in import Hiprtc
from tvm.contrib import hiprtc
from tvm.error import TVMError
from tvm.ffi import get_global_func

pytestmark = pytest.mark.cpu
TEXT = 'extern "C" __global__ void f(int* a) { a[0] = 1; }'


def test_text_becomes_code(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Hiprtc()
    monkeypatch.setitem(sys.modules, "hip", SimpleNamespace(hiprtc=library))
    made = hiprtc.compile_source(TEXT, "gfx942", ["-O2"])
    assert made.startswith(b"\x7fELF")
    assert library.options == [b"--offload-arch=gfx942", b"-O2"]
    again = bytes(get_global_func("tvm_callback_rocm_compile")(TEXT, "gfx90a"))
    assert again.startswith(b"\x7fELF")


def test_the_compilers_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hip", SimpleNamespace(hiprtc=Hiprtc()))
    with pytest.raises(TVMError, match=r"compile HIP by hiprtc[\s\S]*not declared"):
        hiprtc.compile_source(TEXT.replace("= 1", "= nothing"), "gfx942")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hip", None)
    with pytest.raises(TVMError, match=r"legal: ROCm, and pip install 'tvm-py\[rocm\]'"):
        hiprtc.compile_source(TEXT, "gfx942")
