from __future__ import annotations

import importlib.machinery
import importlib.util

import pytest

from tvm.error import TVMError
from tvm.relax.backend.cuda import flashinfer
from tvm.target import Target

pytestmark = pytest.mark.pure


def test_the_error_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    types = "float16", "float16", "float16"
    with pytest.raises(ImportError, match="FlashInfer is not installed"):
        flashinfer.gen_flashinfer_prefill_module(*types, 128, 128, False)
    with pytest.raises(ImportError, match="gen_flashinfer_decode_module"):
        flashinfer.gen_flashinfer_decode_module(*types, 128, 128, False)
    with pytest.raises(ImportError, match="gen_flashinfer_mla_module"):
        flashinfer.gen_flashinfer_mla_module(*types, 512, 64)
    found = importlib.machinery.ModuleSpec("flashinfer", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found)
    with pytest.raises(TVMError, match="cannot be linked"):
        flashinfer.gen_grouped_gemm_module(Target("cuda -arch=sm_90"))
