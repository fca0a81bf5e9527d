"""What LLVM and targets tell about CPUs."""

from __future__ import annotations

import builtins
import platform
from collections.abc import Callable

import pytest

import tvm
from tvm.error import InternalError
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


@pytest.mark.parametrize(
    "question",
    [
        codegen.llvm_get_cpu_features,
        codegen.llvm_get_cpu_archlist,
        codegen.llvm_get_vector_width,
        lambda: codegen.llvm_cpu_has_features("avx"),
        lambda: codegen.target_has_features(["avx"]),
        lambda: Target.current(allow_none=False),
    ],
)
def test_questions_need_a_target(question: Callable[[], object]) -> None:
    with pytest.raises(InternalError, match=r"Check failed: \(allow_not_defined\) is false"):
        question()


def test_questions_about_this_machine() -> None:
    with Target("llvm"):
        assert codegen.llvm_get_vector_width() >= 128
        assert codegen.target_has_features("sse4.2") or platform.machine() != "x86_64"


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("llvm -mtriple=riscv64-linux-gnu -mcpu=sifive-x280", 512),
        ("llvm -mtriple=riscv64-linux-gnu -mcpu=generic-rv64 -mattr=+i,+m", 128),
        ("llvm -mtriple=riscv32-linux-gnu -mcpu=generic-rv32 -mattr=+i,+m", 128),
        ("llvm -mtriple=riscv64-linux-gnu -mcpu=generic-rv64 -mattr=+i,+m,+v,+zvl256b", 256),
        ("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72", 128),
        ("llvm -mtriple=arm--", 128),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512", 512),
    ],
)
def test_vectors_of_architectures(text: str, bits: int) -> None:
    assert codegen.llvm_get_vector_width(Target(text)) == bits


def test_vectors_of_other_architectures() -> None:
    with pytest.warns(UserWarning, match="vectors of powerpc64le are not known"):
        assert codegen.llvm_get_vector_width(Target("llvm -mtriple=powerpc64le-linux-gnu")) == 128


def test_features_of_arm_with_32_bits() -> None:
    small = Target("llvm -mtriple=arm-- -mcpu=cortex-a55")
    assert codegen.llvm_cpu_has_features(["dsp", "neon", "fp-armv8"], small)
    assert not codegen.llvm_cpu_has_features("mve", small)
    old = Target("llvm -mtriple=arm-- -mcpu=cortex-a9")
    assert not codegen.llvm_cpu_has_features("hwdiv", old)
    assert codegen.llvm_cpu_has_features("hwdiv", Target("llvm -mtriple=arm-- -mcpu=cortex-a15"))


def test_architectures_and_their_cpus() -> None:
    assert {"x86_64", "aarch64", "riscv64", "powerpc64"} <= set(codegen.llvm_get_targets())
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
    built = codegen.build_module(tvm.IRModule({"nothing": func}), "llvm")
    assert "define i32 @nothing()" in built.inspect_source()
