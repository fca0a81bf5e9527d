"""The target of a device of this machine."""

from __future__ import annotations

import pytest

import tvm
from tvm.target import Target

pytestmark = pytest.mark.pure


def test_cpu() -> None:
    assert Target.from_device("cpu").kind.name == "llvm"
    assert Target.from_device(tvm.cpu()).attrs["num-cores"] >= 1


def test_what_cannot_be_detected() -> None:
    with pytest.raises(ValueError, match="Auto detection for device abc is not supported"):
        Target.from_device("abc")
