from __future__ import annotations

import logging

import pytest

import tvm
from tests.dlight.programs import SPR, conv, matmul, softmax
from tvm import dlight, tir
from tvm.dlight import ScheduleRule
from tvm.error import TVMError


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
