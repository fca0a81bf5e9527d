"""What decides code beside the program."""

from __future__ import annotations

import sys

import pytest

import tvm
from tvm.backend.llvm import setting, target
from tvm.support import dtype
from tvm.target import Target, datatype

pytestmark = pytest.mark.cpu


def test_options_and_targets_count() -> None:
    found = [setting.setting(Target("llvm")), setting.setting(Target("llvm -mcpu=haswell"))]
    with tvm.transform.PassContext(opt_level=3):
        found.append(setting.setting(Target("llvm")))
    with tvm.transform.PassContext(config={"tir.disable_vectorize": True}):
        found.append(setting.setting(Target("llvm")))
    assert all(found)
    assert len({str(one) for one in found}) == len(found)


def test_guarded_memory_and_llvms_effort_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TVM_DEBUG_MEMORY", raising=False)
    found = [setting.setting(Target("llvm")), setting.setting(Target("llvm -opt-level=1"))]
    monkeypatch.setattr(target, "DEFAULT_LEVEL", 0)
    found.append(setting.setting(Target("llvm")))
    if sys.platform == "linux":
        monkeypatch.setenv("TVM_DEBUG_MEMORY", "1")
        found.append(setting.setting(Target("llvm")))
    assert len({str(one) for one in found}) == len(found)


def test_what_no_text_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    assert setting.setting(Target("c")) is None
    passes = [(0, tvm.tir.transform.Simplify())]
    with tvm.transform.PassContext(config={"tir.add_lower_pass": passes}):
        assert setting.setting(Target("llvm")) is None
    with tvm.transform.PassContext(instruments=[tvm.ir.instrument.PassTimingInstrument()]):
        assert setting.setting(Target("llvm")) is None
    monkeypatch.setattr(setting, "customised", lambda: True)
    assert setting.setting(Target("llvm")) is None
    monkeypatch.undo()
    monkeypatch.setenv("TVM_CACHE", "0")
    assert setting.setting(Target("llvm")) is None


def test_types_of_users_count_and_their_rules_have_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dtype, "_custom_codes", {})
    monkeypatch.setattr(datatype, "_LOWER", {})
    before = setting.setting(Target("llvm"))
    datatype.register("setting", 199)
    with_type = setting.setting(Target("llvm"))
    assert None not in (before, with_type)
    assert before != with_type
    datatype.register_min_func(lambda bits: bits, "setting")
    assert setting.setting(Target("llvm")) is None
