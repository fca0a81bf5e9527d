from __future__ import annotations

import logging

import pytest

import tvm
from tests.dlight.programs import SPR, conv, matmul, softmax
from tvm import dlight, tir
from tvm.dlight import ScheduleRule
from tvm.dlight.base.schedule_rule import rule_name
from tvm.dlight.base.transform import Scheduled
from tvm.error import ScheduleError, TVMError
from tvm.support.notes import watching


def test_first_fitting_rule_takes_a_function() -> None:
    mod = tvm.IRModule({"a": matmul(8, 64, 8), "b": softmax(4, 16), "c": conv(1, 2, 4, 6)})
    with SPR:
        after = dlight.ApplyDefaultSchedule(*dlight.cpu.default_rules())(mod)
    reasons = {g.name_hint: str(f.attrs["schedule_reason"]) for g, f in after.functions.items()}
    assert "tile" in reasons["a"]
    assert "passes" in reasons["b"]
    assert "tile" in reasons["c"]
    assert all(f.attrs["tir.is_scheduled"] for f in after.functions.values())


def test_scheduled_functions_stay() -> None:
    func = matmul(8, 64, 8).with_attr("tir.is_scheduled", True)
    with SPR:
        after = dlight.ApplyDefaultSchedule(dlight.cpu.GEMM())(tvm.IRModule({"a": func}))
    assert after["a"].same_as(func)


def test_target_of_the_function_counts() -> None:
    func = matmul(8, 64, 8).with_attr("target", SPR)
    after = dlight.ApplyDefaultSchedule(dlight.cpu.GEMM())(tvm.IRModule({"a": func}))
    assert after["a"].attrs["tir.is_scheduled"]


def test_no_target_at_all() -> None:
    with pytest.raises((TVMError, ValueError), match="target"):
        dlight.ApplyDefaultSchedule(dlight.cpu.GEMM())(tvm.IRModule({"a": matmul(8, 64, 8)}))


def test_rules_made_of_functions() -> None:
    @ScheduleRule.from_callable("annotate")
    def rule(func: tir.PrimFunc, target: object, tunable: bool) -> tir.Schedule:
        sch = tir.Schedule(func)
        sch.annotate(sch.get_block("C"), "touched", 1)
        return sch

    with SPR:
        after = dlight.ApplyDefaultSchedule(rule)(tvm.IRModule({"a": matmul(8, 64, 8)}))
    assert "touched" in after.script()
    assert "annotate" in repr(rule)


def test_functions_without_blocks_stay() -> None:
    i = tir.Var("i", "int32")
    out = tir.decl_buffer((4,), "float32")
    store = tir.BufferStore(out, tir.FloatImm("float32", 1), [i])
    loop = tir.For(i, 0, 4, tir.ForKind.SERIAL, store)
    mod = tvm.IRModule({"main": tir.PrimFunc([out], loop)})
    with tvm.target.Target("llvm"):
        assert dlight.ApplyDefaultSchedule(*dlight.cpu.default_rules())(mod)["main"] is mod["main"]


def test_a_rule_that_gives_up_says_so(caplog: pytest.LogCaptureFixture) -> None:
    @ScheduleRule.from_callable("hopeless")
    def hopeless(func: tir.PrimFunc, target: tvm.target.Target, _: bool) -> tir.Schedule:
        sch = tir.Schedule(func)
        sch.get_block("no such block")
        return sch

    mod = tvm.IRModule({"a": matmul(8, 64, 8).with_attr("global_symbol", "product")})
    with SPR, caplog.at_level(logging.DEBUG, logger="tvm.dlight"):
        after = dlight.ApplyDefaultSchedule(hopeless, dlight.cpu.GEMM())(mod)
    assert after["a"].attrs["tir.is_scheduled"]
    (said,) = [r for r in caplog.records if r.name == "tvm.dlight"]
    assert said.levelno == logging.DEBUG
    assert "hopeless does not schedule product" in said.getMessage()
    assert "no such block" in said.getMessage()


def test_whatever_rule_fails_the_next_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rule of the CPU fails in turn: all kernels are scheduled, and the notes say by whom."""
    mod = tvm.IRModule({"a": matmul(8, 64, 8), "b": softmax(4, 16), "c": conv(1, 2, 4, 6)})
    rules = dlight.cpu.default_rules()
    notes: list[object] = []
    with SPR, watching(notes.append):
        dlight.ApplyDefaultSchedule(*rules)(mod)
    chosen = {told.rule for told in notes if isinstance(told, Scheduled)}
    assert len(chosen) == 3
    fails = "Error message: the loop is gone"
    for rule in rules[:-1]:
        if rule_name(rule) not in chosen:
            continue

        def failing(*_: object) -> tir.Schedule:
            raise ScheduleError(f"ScheduleError: in 'fuse'.\n\nprogram\n{fails}\n  where: here")

        notes.clear()
        with monkeypatch.context() as patch, SPR, watching(notes.append):
            patch.setattr(type(rule), "apply", failing)
            after = dlight.ApplyDefaultSchedule(*rules)(mod)
        told = [one for one in notes if isinstance(one, Scheduled)]
        assert all(f.attrs["tir.is_scheduled"] for f in after.functions.values())
        assert rule_name(rule) not in {one.rule for one in told}
        assert any(f"{rule_name(rule)} (the loop is gone)" in one.refused for one in told)
