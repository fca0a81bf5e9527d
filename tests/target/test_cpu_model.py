"""Models of CPUs: triples and features."""

from __future__ import annotations

import platform

import pytest

from tvm.target import Target
from tvm.target.cpu_model import arch_of_triple, complete_features, with_features
from tvm.target.host_cpu import host_triple
from tvm.target.named_cpu import named_cpu

pytestmark = pytest.mark.cpu


def test_features_change_the_width() -> None:
    base = named_cpu("znver4", "x86_64", 1)
    assert with_features(base, ["-avx512f"]).vector_bits == 256
    assert with_features(base, ["-avx512f"]).vector_registers == 16
    assert with_features(named_cpu("x86-64", "x86_64", 1), ["+avx2"]).vector_bits == 256


def test_triples() -> None:
    assert arch_of_triple("arm64-apple-macos") == "aarch64"
    assert arch_of_triple("amd64-pc-windows-msvc") == "x86_64"
    assert arch_of_triple(host_triple()) == arch_of_triple(platform.machine())


@pytest.mark.parametrize(("features", "bits"), [("+m", 64), ("+v", 128), ("+v,+zvl512b", 512)])
def test_vectors_of_riscv(features: str, bits: int) -> None:
    target = Target(f"llvm -mtriple=riscv64-linux-gnu -mattr={features}")
    assert target.cpu.vector_bits == bits


def test_the_ninth_architecture_of_arm_has_scalable_vectors() -> None:
    assert complete_features("aarch64-linux-gnu", ["+v9.2a", "-sve2"])[-2:] == ["+v9.2a", "-sve2"]
    assert "+sve2" in complete_features("aarch64-linux-gnu", ["+v9a"])
    assert complete_features("aarch64-linux-gnu", ["+v8.2a"]) == ["+v8.2a"]
    assert Target("llvm -mtriple=aarch64-linux-gnu -mattr=+v9a").features.has_sve
    assert not Target("llvm -mtriple=aarch64-linux-gnu -mattr=+v8.2a").features.has_sve
