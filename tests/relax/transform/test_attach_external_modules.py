"""AttachExternModules: what is loaded is linked."""

from __future__ import annotations

import pytest

import tvm
from tvm.ir import IRModule
from tvm.relax.transform import AttachExternModules

pytestmark = pytest.mark.pure


class _Extern:
    def load(self) -> tvm.runtime.Module:
        return tvm.runtime.Module()


def test_modules_join_those_that_are_there() -> None:
    once = AttachExternModules([_Extern()])(IRModule({}))
    twice = AttachExternModules([_Extern(), _Extern()])(once)
    assert len(once.attrs["external_mods"]) == 1
    assert len(twice.attrs["external_mods"]) == 3
    assert twice.attrs["external_mods"][0] is once.attrs["external_mods"][0]


def test_rejects_what_cannot_be_loaded() -> None:
    with pytest.raises(TypeError, match="found: int"):
        AttachExternModules([3])
