"""What LLVM says about CPUs, asked in another process."""

from __future__ import annotations

import pytest

import tvm
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


@pytest.mark.parametrize("cpu", ["sifive-u74", "sifive-p670", "xiangshan-nanhu", "tt-ascalon-d8"])
def test_what_riscv_is_tuned_for_hides_no_feature(cpu: str) -> None:
    on = ask_llvm("riscv64-linux-gnu", cpu).on
    assert {"i", "m", "a", "f", "d", "c"} <= on
    assert ("v" in on) == (cpu in ("sifive-p670", "tt-ascalon-d8"))


def test_hexagon_has_the_vectors_that_are_switched_on() -> None:
    found = ask_llvm("hexagon", "hexagonv68", "+hvxv68,+hvx-length128b")
    assert "hexagonv68" in found.cpus
    assert {"hvxv68", "hvx-length128b"} <= found.on
    assert "hvxv73" not in found.on
