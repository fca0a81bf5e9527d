"""Facts of a module."""

from __future__ import annotations

import pytest

from tvm.ir import DummyGlobalInfo, VDevice, structural_equal

pytestmark = pytest.mark.pure


def test_virtual_devices() -> None:
    assert VDevice("llvm").target.kind.name == "llvm"  # type: ignore[attr-defined]
    assert VDevice().target is None
    assert VDevice("llvm").memory_scope == "global"
    assert structural_equal(VDevice("llvm", 1), VDevice("llvm", 1))
    assert not structural_equal(VDevice("llvm", 1), VDevice("llvm", 2))


def test_facts_are_equal_by_what_they_say() -> None:
    assert VDevice("llvm", 1) == VDevice("llvm", 1)
    assert hash(VDevice("llvm", 1)) == hash(VDevice("llvm", 1))
    assert VDevice("llvm", 1) != VDevice("llvm", 2)
    assert DummyGlobalInfo() == DummyGlobalInfo()
    assert not DummyGlobalInfo().same_as(DummyGlobalInfo())
