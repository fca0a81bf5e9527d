"""Intrinsics of AMD's GPUs by their builtins; those of products: tests of tensor intrinsics."""

from __future__ import annotations

import pytest

import tvm
from tests.backend.device.harness import source_of
from tvm.error import TVMError
from tvm.script import tir as T

pytestmark = pytest.mark.pure


def calls(name: str) -> tvm.IRModule:
    @T.prim_func
    def func(A: T.Buffer((32,), "int32"), B: T.Buffer((32,), "int32")):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            B[tx] = T.call_llvm_pure_intrin("int32", name, A[tx], A[tx], B[tx], T.bool(False))

    return tvm.IRModule({"func": func})


def test_a_builtin() -> None:
    text = source_of(calls("llvm.amdgcn.sdot4"), "rocm")
    assert "__builtin_amdgcn_sdot4(A[" in text


def test_of_other_machines() -> None:
    with pytest.raises(TVMError, match=r"LLVM intrinsic llvm\.x86\.sse2\.pause") as found:
        source_of(calls("llvm.x86.sse2.pause"), "rocm")
    assert "no intrinsic of AMD's GPUs" in str(found.value)
