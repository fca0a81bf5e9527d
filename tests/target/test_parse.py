"""Option strings in their forms; refusals are in test_target."""

from __future__ import annotations

import pytest

from tvm.error import TargetError
from tvm.target.parse import parse_target

pytestmark = pytest.mark.pure


def test_values_with_and_without_equals() -> None:
    config = parse_target("llvm -num-cores 4 -mcpu=x -fast-math -mattr=+a,-b -mabi lp64")
    assert config == {
        "kind": "llvm", "num-cores": 4, "mcpu": "x", "fast-math": True, "mattr": ["+a", "-b"],
        "mabi": "lp64",
    }  # fmt: skip


def test_json_and_tags() -> None:
    assert parse_target('{"kind": "llvm"}') == {"kind": "llvm"}
    assert parse_target("nvidia/nvidia-v100")["arch"] == "sm_70"


def test_only_switches_stand_without_a_value() -> None:
    with pytest.raises(TargetError, match=r"option 'mcpu' needs a value\n.*where nothing follows"):
        parse_target("llvm -mcpu")
    with pytest.raises(TargetError, match="option 'num-cores' needs a value"):
        parse_target("llvm -num-cores -mcpu=x")
