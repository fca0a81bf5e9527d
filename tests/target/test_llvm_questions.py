"""What LLVM says about CPUs, asked in another process."""

from __future__ import annotations

import pytest

import tvm
from tests.covering import few
from tvm.target.cpu_model import named_cpu
from tvm.target.llvm_questions import ask_llvm

pytestmark = pytest.mark.cpu


def test_x86() -> None:
    zen = ask_llvm("x86_64-linux-gnu", "znver4")
    assert {"avx512bf16", "sse2", "vaes"} <= zen.on
    assert "amx-int8" not in zen.on
    assert "avx512fp16" in zen.names
    assert "znver4" in zen.cpus
    least = ask_llvm("x86_64-linux-gnu").on
    assert "sse2" in least
    assert "sse3" not in least


def test_features_can_be_switched() -> None:
    on = ask_llvm("x86_64-linux-gnu", "skylake", "+avx512f,-fma").on
    assert "fma" not in on
    assert "avx512f" not in on, "it needs fma"


def test_other_architectures() -> None:
    assert {"v", "zvfh"} <= ask_llvm("riscv64-linux-gnu", "sifive-x280").on
    assert "v" not in ask_llvm("riscv64-linux-gnu").on
    assert "neon" in ask_llvm("armv7a-linux-eabi", "", "+neon").on
    assert "simd128" in ask_llvm("wasm32", "", "+simd128").on


def test_an_unknown_triple_is_refused() -> None:
    with pytest.raises(tvm.TVMError, match="features of CPU '' for nonsense"):
        ask_llvm("nonsense")


X86 = ("tigerlake", "arrowlake", "ivybridge", "gracemont", "znver5")
ARM = ("neoverse-n2", "cortex-a55", "neoverse-v1", "cortex-x2", "ampere1")


@pytest.mark.parametrize("name", few(X86, 2))
def test_the_table_says_nothing_of_x86_that_llvm_denies(name: str) -> None:
    """Each named CPU has at least the features that the table gives it."""
    assert named_cpu(name, "x86_64", 1).features <= ask_llvm("x86_64-linux-gnu", name).on


@pytest.mark.parametrize("name", few(ARM, 2))
def test_the_table_says_nothing_of_arm_that_llvm_denies(name: str) -> None:
    assert named_cpu(name, "aarch64", 1).features <= ask_llvm("aarch64-linux-gnu", name).on


def test_hexagon_has_the_vectors_that_are_switched_on() -> None:
    found = ask_llvm("hexagon", "hexagonv68", "+hvxv68,+hvx-length128b")
    assert "hexagonv68" in found.cpus
    assert {"hvxv68", "hvx-length128b"} <= found.on
    assert "hvxv73" not in found.on
