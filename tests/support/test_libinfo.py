"""What the build says of itself."""

from __future__ import annotations

import pytest

import tvm
from tvm.support.libinfo import describe, libinfo

pytestmark = pytest.mark.cpu


def test_parts_and_versions() -> None:
    found = libinfo()
    assert found["USE_LLVM"] == "ON"
    assert int(found["LLVM_VERSION"].split(".")[0]) == tvm.target.codegen.llvm_version_major()
    assert found["USE_CUDA"] == "OFF"
    assert all(isinstance(value, str) for value in found.values())
    assert tvm.support.libinfo() == found


def test_description(capsys: pytest.CaptureFixture[str]) -> None:
    describe()
    printed = capsys.readouterr().out
    assert "Python Environment" in printed
    assert "LLVM_VERSION" in printed
