"""Makers of targets for common devices."""

from __future__ import annotations

import pytest

from tvm import target as t

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("made", "kind", "key"),
    [
        (lambda: t.cuda("a100", "sm_80"), "cuda", "gpu"),
        (lambda: t.rocm(), "rocm", "gpu"),
        (lambda: t.mali(), "opencl", "mali"),
        (lambda: t.bifrost(), "opencl", "bifrost"),
        (lambda: t.intel_graphics(), "opencl", "intel_graphics"),
        (lambda: t.adreno(clml=True), "opencl", "clml"),
        (lambda: t.arm_cpu("rasp4b64"), "llvm", "arm_cpu"),
        (lambda: t.rasp(), "llvm", "arm_cpu"),
        (lambda: t.riscv_cpu(), "llvm", "cpu"),
        (lambda: t.hexagon("v69", num_cores=2), "hexagon", "cpu"),
        (lambda: t.stm32("stm32F7xx"), "c", "arm_cpu"),
        (lambda: t.create("llvm"), "llvm", "cpu"),
    ],
)
def test_kind_and_key(made, kind: str, key: str) -> None:
    target = made()
    assert target.kind.name == kind
    assert key in target.keys


def test_options() -> None:
    assert t.cuda(arch="sm_90", options="-max_threads_per_block=512").attrs[
        "max_threads_per_block"
    ] == 512
    with pytest.raises(TypeError, match="hexagon: unknown option 'cores'"):
        t.hexagon(cores=3)


def test_hexagon_features() -> None:
    def features(*args: str, **options: object) -> list[str]:
        return list(t.hexagon(*args, **options).attrs["mattr"])

    assert features("v66") == ["+hvxv66", "+hvx-length128b"]
    assert features("v66", hvx=0) == ["-hvx"]
    assert features("hexagonv68", hvx=64) == [
        "+hvxv68", "+hvx-length64b", "+hvx-qfloat", "-hvx-ieee-fp",
    ]  # fmt: skip
    switched = features("v69", use_qfloat=False, use_ieee_fp=True)
    assert switched[2:] == ["-hvx-qfloat", "+hvx-ieee-fp"]
    assert "-llvm-options=-hexagon-noopt" in str(t.hexagon("v66", llvm_options="-hexagon-noopt"))
    assert t.hexagon(llvm_options=["-a", "-b"]).attrs["llvm-options"] == (
        "-a", "-b", "-force-hvx-float",
    )  # fmt: skip
    assert t.hexagon("v69").vtcm_capacity == 8 << 20
    with pytest.raises(ValueError, match="v12 is not a valid Hexagon version"):
        t.hexagon("v12")
    with pytest.raises(ValueError, match="hvx=32; legal: 128, 64, or 0"):
        t.hexagon(hvx=32)


def test_cores_of_32_and_64_bits() -> None:
    small, large = t.riscv_cpu("sifive-e31"), t.riscv_cpu("sifive-u74")
    assert (small.attrs["mtriple"], small.attrs["mabi"]) == ("riscv32-unknown-linux-gnu", "ilp32")
    assert (large.attrs["mtriple"], large.attrs["mabi"]) == ("riscv64-unknown-linux-gnu", "lp64d")


def test_boards_have_the_models_of_their_chips() -> None:
    assert [t.arm_cpu(board).model for board in ("pixel2", "rasp4b64", "p20pro", "other")] == [
        "snapdragon835", "bcm2711", "kirin970", "other"]  # fmt: skip
    assert t.arm_cpu("thunderx").mattr == ["+neon", "+crc", "+lse"]
    assert t.stm32("stm32H7xx").attrs["march"] == "armv7e-m"
    with pytest.raises(ValueError, match="Series nope is not supported"):
        t.stm32("nope")
