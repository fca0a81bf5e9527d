"""Facts of a module."""

from __future__ import annotations

import pytest

from tvm.ir import VDevice, structural_equal

pytestmark = pytest.mark.pure


def test_virtual_devices() -> None:
    assert VDevice("llvm").target.kind.name == "llvm"  # type: ignore[attr-defined]
    assert VDevice().target is None
    assert VDevice("llvm").memory_scope == "global"
    assert structural_equal(VDevice("llvm", 1), VDevice("llvm", 1))
    assert not structural_equal(VDevice("llvm", 1), VDevice("llvm", 2))
