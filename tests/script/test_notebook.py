"""What notebooks show of programs, schedules, targets, profiles, databases."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tvm
from tests.report.conftest import program
from tvm.meta_schedule.database import Database, TuningRecord
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


@T.prim_func
def twice(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("y"):
            v = T.axis.spatial(8, i)
            y[v] = x[v] * T.float32(2)


def _text(shown: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<style>.*?</style>|<[^>]*>", " ", shown))


def test_a_function_in_colours() -> None:
    shown = twice._repr_html_()
    assert '<span class="nd">@T</span>' in shown or "prim_func" in shown
    assert "T.float32" in _text(shown).replace(" ", "")


def test_a_module_is_folded_by_function() -> None:
    mod = tvm.IRModule({f"f{i}": twice.with_attr("global_symbol", f"f{i}") for i in range(5)})
    shown = mod._repr_html_()
    assert shown.count("<details open>") == 3
    assert shown.count("<details>") == 2
    assert "f4: PrimFunc, " in shown


def test_a_module_of_relay_is_shown_as_such() -> None:
    x = tvm.relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(tvm.relay.Function([x], tvm.relay.nn.relu(x)))
    assert "nn.relu" in _text(mod._repr_html_()).replace(" ", "")


def test_a_schedule_explains_itself() -> None:
    sch = tvm.tir.Schedule(twice)
    assert sch.explain() == "# nothing was done yet"
    (loop,) = sch.get_loops("y")
    outer, _ = sch.split(loop, [None, 4])
    sch.parallel(outer)
    lines = sch.explain().splitlines()
    split = next(line for line in lines if "sch.split(" in line)
    says = (tvm.tir.Schedule.split.__doc__ or "").split("\n")[0]
    assert split.endswith(f"# {says}")
    assert "2 steps" not in sch._repr_html_()
    assert f"{len(sch.trace.insts)} steps" in sch._repr_html_()


def test_the_reason_of_a_rule_stands_above() -> None:
    (sch,) = [tvm.dlight.cpu.Fallback().apply(twice, tvm.target.Target("llvm"), False)]
    reason = str(next(iter(sch.mod.functions.values())).attrs["schedule_reason"])
    assert sch.explain().startswith(f"# {reason}\n")


def test_a_target() -> None:
    shown = _text(tvm.target.Target("llvm -mcpu=x86-64-v3")._repr_html_())
    assert "mcpu x86-64-v3" in shown
    assert "vector_bits 256" in shown
    assert "avx2" in shown
    assert "processor" not in tvm.target.Target("cuda")._repr_html_()


def test_a_profile_as_table_and_frame() -> None:
    vm = tvm.relax.VirtualMachine(tvm.compile(program()), tvm.cpu())
    profile = vm.profile("main", np.ones((8, 32), "float32"))
    assert "Duration (us)" in profile._repr_html_()
    pandas = pytest.importorskip("pandas")
    frame = profile.frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["Name"]) == [call["Name"] for call in profile.calls]
    assert frame["Duration (us)"].sum() > 0


def test_a_database() -> None:
    database = Database.create("memory")
    workload = database.commit_workload(tvm.IRModule({"main": twice}))
    trace = tvm.tir.Schedule(twice).trace
    for seconds in ([2e-6], [1e10]):
        database.commit_tuning_record(TuningRecord(trace, workload, seconds))
    assert "main 2 1 2.0" in _text(database._repr_html_())
