"""What the rules make of a module is measured first, and only where nobody chose a space."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.meta_schedule.programs import Matmul
from tests.meta_schedule.schedules import sampled_matmul
from tvm import dlight
from tvm.ir.module import IRModule
from tvm.ir.structural import assert_structural_equal, structural_equal
from tvm.meta_schedule import TuneContext, tune_tasks
from tvm.meta_schedule.runner import RunnerResult
from tvm.meta_schedule.search_context import normalize_mod
from tvm.meta_schedule.search_strategy.rule_candidate import rule_candidate
from tvm.meta_schedule.space_generator import PostOrderApply
from tvm.meta_schedule.testing.dummy_object import DummyBuilder, DummyRunner
from tvm.meta_schedule.testing.te_workload import create_te_workload
from tvm.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import Schedule, Trace

pytestmark = pytest.mark.pure
TARGET = Target("llvm -mcpu=skylake-avx512 -num-cores=2")


def context(
    mod: Any = Matmul, target: Any = TARGET, space: Any = None, **parts: Any
) -> TuneContext:
    return TuneContext(
        mod, target=target, space_generator=space or PostOrderApply(), rand_state=1,
        num_threads=1, **parts,
    )  # fmt: skip


def by_rule(mod: Any) -> IRModule:
    """As a compilation without tuning has it, but for the notes in its attributes."""
    with TARGET:
        made = dlight.ApplyDefaultSchedule(*dlight.cpu.default_rules())(mod)
    func = made["main"].without_attr("tir.is_scheduled").without_attr("schedule_reason")
    return made.with_functions({made.get_global_var("main"): func})


# a product with rows past the end, with a batch, windows, depthwise, a chain of reductions
@pytest.mark.parametrize("name", ["GMM", "TBG", "C2D", "DEP", "CBR", "SFM"])
def test_the_record_of_the_rule_makes_its_program(name: str) -> None:
    mod = normalize_mod(create_te_workload(name, 0))
    found = rule_candidate(context(mod))
    assert found is not None
    replayed = Schedule(mod)
    Trace.apply_json_to_schedule(json.dumps(found.sch.trace.as_json()), replayed)
    assert_structural_equal(replayed.mod, by_rule(mod))
    func = mod["main"]
    assert isinstance(func, PrimFunc)
    assert len(found.args_info) == len(func.params)


@pytest.mark.parametrize("strategy", ["evolutionary", "replay-trace"])
def test_first_of_the_first_round_and_counted(strategy: str) -> None:
    task = context(search_strategy=strategy)
    task.rule_first = True
    task.pre_tuning(max_trials=6, num_trials_per_iter=4)
    rounds = []
    while (found := task.generate_measure_candidates()) is not None:
        rounds.append(found)
        task.notify_runner_results(found, [RunnerResult([1.0], None)] * len(found))
    assert [len(found) for found in rounds] == [4, 2]
    is_rule = [structural_equal(c.sch.mod, by_rule(Matmul)) for found in rounds for c in found]
    assert is_rule == [True] + [False] * 5


def test_the_only_trial_is_the_rule(tmp_path: Path) -> None:
    database = tune_tasks(
        tasks=[context(search_strategy="evolutionary").clone()], task_weights=[1.0],
        work_dir=str(tmp_path), max_trials_global=1, builder=DummyBuilder(),
        runner=DummyRunner(), database="memory", cost_model="none",
    )  # fmt: skip
    (record,) = database.get_all_tuning_records()
    assert_structural_equal(record.schedule().mod, by_rule(Matmul))


def test_what_users_chose_stays_theirs() -> None:
    assert rule_candidate(context()) is not None
    assert rule_candidate(context(space=sampled_matmul)) is None
    assert rule_candidate(context(space=PostOrderApply(sch_rules="llvm"))) is None
    assert rule_candidate(context(space=PostOrderApply(lambda _: True))) is None
    assert rule_candidate(context(target=Target("nvidia/nvidia-a100"))) is None
    matmul: Any = Matmul
    sch = Schedule(matmul)
    sch.annotate(sch.get_block("matmul"), "schedule_rule", "None")
    assert rule_candidate(context(sch.mod)) is None
    known = context()
    known.known_s = 1.0  # measured before the search
    assert rule_candidate(known) is None
