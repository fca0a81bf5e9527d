from __future__ import annotations

import pytest

from tvm.target import Target

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("text", "dsp", "mve"),
    [
        ("c -mcpu=cortex-m55", True, True),
        ("llvm -mtriple=thumb -mcpu=cortex-m55 -mattr=+nomve", True, False),
        ("llvm -mtriple=thumb -mcpu=cortex-m85 -mattr=+nodsp", False, True),
        ("llvm -mcpu=cortex-m7 -mtriple=thumb", True, False),
        ("c -mcpu=cortex-m3", False, False),
    ],
)
def test_cores(text: str, dsp: bool, mve: bool) -> None:
    target = Target(text)
    assert target.keys == ("arm_cpu", "cpu")
    assert target.features.has_dsp is dsp
    assert target.features.has_mve is mve


def test_other_cores() -> None:
    assert "arm_cpu" not in Target("c -mcpu=x86-64").keys


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("llvm -mtriple=aarch64-linux-gnu", ("arm_cpu", "cpu")),
        ("llvm -mtriple=aarch64-linux-gnu -device=arm_cpu", ("arm_cpu", "cpu")),
        ("llvm -mtriple=armv7l-linux-gnueabihf", ("arm_cpu", "cpu")),
        ("llvm -mtriple=arm64-apple-darwin", ("arm_cpu", "cpu")),
        ("llvm -mtriple=arm-none-eabi -mcpu=cortex-m99", ("cpu",)),
        ("llvm -mtriple=x86_64-linux-gnu", ("cpu",)),
        ("llvm -mtriple=aarch64-linux-gnu -keys=mine", ("mine", "arm_cpu", "cpu")),
    ],
)
def test_cpus_for_applications(text: str, keys: tuple[str, ...]) -> None:
    assert Target(text).keys == keys
    shown = str(Target("llvm -mtriple=aarch64-linux-gnu"))
    assert shown == "llvm -keys=arm_cpu,cpu -mtriple=aarch64-linux-gnu"
