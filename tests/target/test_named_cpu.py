"""Models of CPUs that targets name."""

from __future__ import annotations

import pytest

from tvm.target import Target
from tvm.target.named_cpu import named_cpu

pytestmark = pytest.mark.cpu


def test_named_cpus() -> None:
    zen4, haswell = Target("llvm -mcpu=znver4").cpu, Target("llvm -mcpu=core-avx2").cpu
    assert (zen4.lanes(), zen4.vector_registers, zen4.fma_ports) == (16, 32, 1)
    assert (haswell.lanes(), haswell.vector_registers, haswell.fma_ports) == (8, 16, 2)
    assert zen4.lanes(8) == 64
    assert Target("llvm -mcpu=znver4 -num-cores=12").cpu.cores == 12


def test_unknown_cpus_get_the_least_of_their_architecture() -> None:
    assert named_cpu("never-heard-of", "x86_64", 2).vector_bits == 128
    assert Target("llvm -mtriple=aarch64-linux-gnu").cpu.arch == "aarch64"
    assert Target("llvm -mtriple=riscv64-unknown-linux-gnu").cpu.arch == "riscv64"



@pytest.mark.parametrize(
    ("triple", "cpu", "bits", "ports", "has"),
    [
        ("riscv64-linux-gnu", "sifive-x280", 512, 1, "v"),
        ("riscv64-linux-gnu", "spacemit-x60", 256, 1, "v"),
        ("riscv64-linux-gnu", "sifive-u74", 64, 1, "m"),
        ("x86_64-linux-gnu", "bdver4", 256, 2, "fma"),
        ("x86_64-linux-gnu", "silvermont", 128, 1, "sse4.2"),
        ("aarch64-linux-gnu", "exynos-m5", 128, 2, "dotprod"),
    ],
)
def test_cpus_without_figures_have_what_llvm_knows_of_them(
    triple: str, cpu: str, bits: int, ports: int, has: str
) -> None:
    model = Target(f"llvm -mtriple={triple} -mcpu={cpu}").cpu
    assert (model.name, model.vector_bits, model.fma_ports) == (cpu, bits, ports)
    assert has in model.features
