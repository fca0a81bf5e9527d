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
