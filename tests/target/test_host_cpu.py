"""The CPU of this machine, from what operating systems say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvm.target import Target
from tvm.target import host_cpu as host

pytestmark = pytest.mark.cpu


def test_host_is_plausible() -> None:
    cpu = host.host_cpu()
    assert cpu.vector_bits in (64, 128, 256, 512)
    assert cpu.vector_registers in (16, 32)
    assert 16 * 1024 <= cpu.l1d_bytes <= cpu.l2_bytes
    assert cpu.cores >= 1
    assert Target("llvm").cpu is cpu


@pytest.mark.parametrize("given", [True, False])
def test_tile_registers_are_asked_for(given: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The instructions end a process whose sandbox refuses the registers, whatever the CPU has."""
    text = "flags : fma avx avx2 avx512f avx512_bf16 amx_tile amx_int8 amx_bf16\n"
    monkeypatch.setattr(host, "_read", lambda path: text)
    monkeypatch.setattr(host, "host_arch", lambda: "x86_64")
    monkeypatch.setattr(host, "_gives_tiles", lambda: given)
    features = host.host_cpu.__wrapped__().features
    assert "avx512f" in features
    assert ({"amx-tile", "amx-int8", "amx-bf16"} <= features) is given
    assert given or not any(name.startswith("amx") for name in features)


ARM = """processor\t: {number}
BogoMIPS\t: 243.75
Features\t: {features}
CPU implementer\t: 0x41
CPU architecture: 8
CPU part\t: {part}

"""


def read_as(
    monkeypatch: pytest.MonkeyPatch, arch: str, text: str, system: str = "Linux"
) -> host.CpuModel:
    """The model of a machine that says this of itself."""
    monkeypatch.setattr(host, "_read", lambda path: text if path == "/proc/cpuinfo" else "")
    monkeypatch.setattr(host, "host_arch", lambda: arch)
    monkeypatch.setattr(host.platform, "system", lambda: system)
    return host.host_cpu.__wrapped__()


def test_a_server_of_arm_is_known_by_its_part(monkeypatch: pytest.MonkeyPatch) -> None:
    features = "fp asimd evtstrm aes atomics fphp asimdhp cpuid asimddp sve i8mm bf16"
    text = "".join(ARM.format(number=n, features=features, part="0xd40") for n in range(2))
    model = read_as(monkeypatch, "aarch64", text)
    assert (model.name, model.fma_ports, model.l2_bytes) == ("host", 4, 1 << 20)
    assert model.features == {"neon", "fullfp16", "dotprod", "sve", "i8mm", "bf16"}


def test_cores_of_two_kinds_have_what_both_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """The larger one's figures, and the features that code may use on either."""
    little = ARM.format(number=0, features="fp asimd asimddp asimdhp", part="0xd05")
    large = ARM.format(number=4, features="fp asimd asimddp asimdhp i8mm", part="0xd0d")
    model = read_as(monkeypatch, "aarch64", little + large)
    assert model.fma_ports == 2
    assert model.features == {"neon", "dotprod", "fullfp16"}


def test_an_unknown_core_of_arm_has_what_its_system_says(monkeypatch: pytest.MonkeyPatch) -> None:
    text = ARM.format(number=0, features="fp asimd asimddp", part="0xfff")
    model = read_as(monkeypatch, "aarch64", text)
    assert model.features == {"neon", "dotprod"}
    assert (model.vector_bits, model.vector_registers) == (128, 32)


def test_a_mac_tells_features_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    import subprocess

    shown = """hw.optional.arm.FEAT_DotProd: 1
hw.optional.arm.FEAT_I8MM: 0
hw.optional.arm.FEAT_FP16: 1
"""
    done = subprocess.CompletedProcess([], 1, stdout=shown, stderr="unknown oid")
    monkeypatch.setattr(subprocess, "run", lambda *args, **kwargs: done)
    model = read_as(monkeypatch, "aarch64", "", "Darwin")
    assert model.fma_ports == 4
    assert model.features == {"neon", "dotprod", "fullfp16"}


@pytest.mark.parametrize(
    ("isa", "bits"),
    [("rv64imafdc_zicsr_zifencei", 64), ("rv64imafdcv_zicsr", 128), ("rv64gcv_zvl256b", 256)],
)
def test_extensions_of_riscv(isa: str, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = read_as(monkeypatch, "riscv64", f"processor\t: 0\nhart\t: 1\nisa\t: {isa}\n")
    assert (model.vector_bits, model.arch) == (bits, "riscv64")


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
    model = host.with_caches(Target("llvm -mcpu=haswell").cpu, str(tmp_path))
    assert (model.l1d_bytes, model.l2_bytes) == (48 << 10, 2 << 20)
    assert model.l3_bytes >> 20 == share
