"""What LLVM and targets tell about CPUs."""

from __future__ import annotations

import builtins
import platform

import pytest

import tvm
from tvm.target import Target, codegen, x86


def test_llvm_names_itself_and_its_machine() -> None:
    from llvmlite.binding import llvm_version_info

    assert codegen.llvm_version_major() == llvm_version_info[0]
    assert codegen.llvm_get_system_cpu()
    assert codegen.llvm_get_system_triple().count("-") >= 2
    assert codegen.llvm_get_system_x86_vendor() in ("intel", "amd", "unknown")


def test_without_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith("llvmlite"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    assert codegen.llvm_version_major(allow_none=True) is None
    with pytest.raises(tvm.TVMError, match="legal: pip install llvmlite"):
        codegen.llvm_version_major()


def test_features_of_a_target() -> None:
    wide = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=cascadelake")
    assert codegen.target_has_features("avx512vnni", wide)
    assert codegen.target_has_features(["avx2", "avx512f"], wide)
    assert not codegen.target_has_features(["avx2", "amx-int8"], wide)
    assert codegen.llvm_get_vector_width(wide) == 512
    with Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell"):
        assert codegen.llvm_get_vector_width() == 256
        assert x86.get_simd_32bit_lanes() == 8


def test_without_a_target_the_machine_is_meant() -> None:
    assert codegen.llvm_get_vector_width() >= 128
    assert codegen.target_has_features("sse4.2") or platform.machine() != "x86_64"


def test_architectures_and_their_cpus() -> None:
    assert {"x86-64", "aarch64", "riscv64"} <= set(codegen.llvm_get_targets())
    arm = Target("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72")
    assert "cortex-a72" in codegen.llvm_get_cpu_archlist(arm)
    assert "neon" in codegen.llvm_get_cpu_features(arm)
    assert "sve" not in codegen.llvm_get_cpu_features(arm)


def test_features_and_widths_of_cpus_that_no_table_has() -> None:
    with Target("llvm -mtriple=x86_64-linux-gnu -mcpu=btver2"):
        assert codegen.target_has_features(["avx", "sse4a"])
        assert not codegen.target_has_features("avx2")
        assert codegen.llvm_get_vector_width() == 256
    assert codegen.llvm_get_vector_width(Target("llvm -vector-width=1024")) == 1024


def test_intrinsics_by_number() -> None:
    number = codegen.llvm_lookup_intrinsic_id("llvm.ctpop")
    assert number != 0
    assert codegen.llvm_get_intrinsic_name(number) == "llvm.ctpop"
    assert codegen.llvm_lookup_intrinsic_id("llvm.not.there") == 0
    assert codegen.llvm_lookup_intrinsic_id("ctpop") == 0
    assert codegen.llvm_get_intrinsic_name(0) == ""
    call = tvm.tir.call_llvm_pure_intrin("int32", number, tvm.tir.Var("x", "int32"))
    assert str(call) == 'T.call_llvm_pure_intrin("int32", "llvm.ctpop", x)'


def test_a_module_can_be_built_from_here() -> None:
    func = tvm.tir.PrimFunc([], tvm.tir.Evaluate(0)).with_attr("global_symbol", "nothing")
    built = codegen.build_module(tvm.IRModule({"nothing": func}), Target("llvm"))
    assert "define i32 @nothing()" in built.inspect_source()
