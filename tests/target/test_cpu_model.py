"""Models of CPUs: the host, named ones, features."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from tvm.target import Target
from tvm.target.cpu_model import (
    arch_of_triple,
    complete_features,
    host_cpu,
    host_triple,
    named_cpu,
    with_caches,
    with_features,
)

pytestmark = pytest.mark.cpu


def test_host_is_plausible() -> None:
    cpu = host_cpu()
    assert cpu.vector_bits in (64, 128, 256, 512)
    assert cpu.vector_registers in (16, 32)
    assert 16 * 1024 <= cpu.l1d_bytes <= cpu.l2_bytes
    assert cpu.cores >= 1
    assert Target("llvm").cpu is cpu


@pytest.mark.parametrize("given", [True, False])
def test_tile_registers_are_asked_for(given: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The instructions end a process whose sandbox refuses the registers, whatever the CPU has."""
    from tvm.target import cpu_model

    text = "flags : fma avx avx2 avx512f avx512_bf16 amx_tile amx_int8 amx_bf16\n"
    monkeypatch.setattr(cpu_model, "_read", lambda path: text)
    monkeypatch.setattr(cpu_model, "host_arch", lambda: "x86_64")
    monkeypatch.setattr(cpu_model, "_gives_tiles", lambda: given)
    features = cpu_model.host_cpu.__wrapped__().features
    assert "avx512f" in features
    assert ({"amx-tile", "amx-int8", "amx-bf16"} <= features) is given
    assert given or not any(name.startswith("amx") for name in features)


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


@pytest.mark.parametrize(
    ("size", "sharing", "share"),
    [("32768K", "0-7", 4), ("32M", "0,2,4,6-7", 6), ("32M", "", 16), ("491520K", "0-1", 16)],
)
def test_a_core_has_its_share_of_the_last_cache(
    tmp_path: Path, size: str, sharing: str, share: int
) -> None:
    """A virtual machine of two cores is told all the cache of a processor of a hundred."""
    caches = [("1", "Data", "48K", "0"), ("2", "Unified", "2048K", "0"),
              ("3", "Unified", size, sharing)]  # fmt: skip
    for index, values in enumerate(caches):
        (tmp_path / f"index{index}").mkdir()
        for name, value in zip(("level", "type", "size", "shared_cpu_list"), values):
            (tmp_path / f"index{index}" / name).write_text(value + "\n")
    model = with_caches(Target("llvm -mcpu=haswell").cpu, str(tmp_path))
    assert (model.l1d_bytes, model.l2_bytes) == (48 << 10, 2 << 20)
    assert model.l3_bytes >> 20 == share
