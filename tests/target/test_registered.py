"""What `tvm.target.codegen` answers is found by name, too."""

from __future__ import annotations

import pytest

import tvm
from tvm.target import Target, _ffi_api, codegen

HASWELL = "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell"


@pytest.mark.cpu
def test_answers_about_a_cpu() -> None:
    target = Target(HASWELL)
    assert _ffi_api.llvm_cpu_has_feature("avx2", target) is True
    assert _ffi_api.target_has_feature("avx512f", target) is False
    assert "haswell" in _ffi_api.llvm_get_cpu_archlist(target)
    features = _ffi_api.llvm_get_cpu_features(target)
    assert isinstance(features, tvm.ir.Map)
    assert features["avx2"] == ""
    assert _ffi_api.llvm_get_vector_width(target) == codegen.llvm_get_vector_width(target)


@pytest.mark.cpu
def test_answers_about_llvm() -> None:
    number = _ffi_api.llvm_lookup_intrinsic_id("llvm.ctpop")
    assert number != 0
    assert _ffi_api.llvm_get_intrinsic_name(number) == "llvm.ctpop"
    assert _ffi_api.llvm_version_major() == codegen.llvm_version_major()
    assert _ffi_api.llvm_get_system_triple() == codegen.llvm_get_system_triple()
    assert _ffi_api.llvm_get_system_cpu() == codegen.llvm_get_system_cpu()
    assert _ffi_api.llvm_get_system_x86_vendor() == codegen.llvm_get_system_x86_vendor()
    assert list(_ffi_api.llvm_get_targets()) == codegen.llvm_get_targets()


@pytest.mark.pure
def test_code_of_a_module() -> None:
    empty = tvm.IRModule({})
    assert _ffi_api.Build(empty, Target("c")).kind == "c"
