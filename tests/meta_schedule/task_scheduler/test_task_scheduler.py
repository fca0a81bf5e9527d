"""Several searches at once, by the kinds of scheduler and by those of users."""

from __future__ import annotations

import random
import weakref
from typing import Any

import pytest

from tests.meta_schedule.programs import Add, Matmul
from tests.meta_schedule.schedules import LLVM, sampled_matmul
from tvm.error import TVMError
from tvm.meta_schedule import TaskScheduler, TuneContext, derived_object
from tvm.meta_schedule.builder import BuilderInput, BuilderResult, PyBuilder
from tvm.meta_schedule.database import MemoryDatabase
from tvm.meta_schedule.measure_callback import AddToDatabase
from tvm.meta_schedule.search_strategy import PySearchStrategy
from tvm.meta_schedule.task_scheduler import GradientBased, PyTaskScheduler, RoundRobin
from tvm.meta_schedule.testing.dummy_object import DummyBuilder, DummyRunner
from tvm.tir import Schedule

pytestmark = pytest.mark.pure


def split_add(sch: Schedule) -> None:
    (i,) = sch.get_loops(sch.get_block("add"))
    sch.split(i, sch.sample_perfect_tile(i, 2))


def task(name: str = "Matmul", **options: Any) -> TuneContext:
    mod, space = (Add, split_add) if name == "Add" else (Matmul, sampled_matmul)
    given = {"space_generator": space, "search_strategy": "replay-trace", **options}
    return TuneContext(mod, target=LLVM, task_name=name, rand_state=42, **given)


def tune(scheduler: TaskScheduler, tasks: list[TuneContext], **options: Any) -> MemoryDatabase:
    database = MemoryDatabase()
    given: dict[str, Any] = {
        "max_trials_global": 24, "max_trials_per_task": 8, "num_trials_per_iter": 3,
        "builder": DummyBuilder(), "runner": DummyRunner(), "database": database,
        "measure_callbacks": [AddToDatabase()], "cost_model": None, **options,
    }  # fmt: skip
    scheduler.tune(tasks, [1.0] * len(tasks), **given)
    return database


@derived_object
class AnyTask(PyTaskScheduler):
    """A scheduler as users write one."""

    def __init__(self) -> None:
        super().__init__()
        self.done: set[int] = set()

    def next_task_id(self) -> int:
        tasks = self._outer().tasks_
        while len(self.done) != len(tasks):
            x = random.randint(0, len(tasks) - 1)
            if not tasks[x].is_terminated:
                self._outer().touch_task(x)
                if tasks[x].runner_futures is not None:
                    self.join_running_task(x)
                return x
            self.done.add(x)
        return -1


KINDS = [RoundRobin, lambda: GradientBased(seed=1), AnyTask]


@pytest.mark.parametrize("kind", KINDS)
def test_trials_of_each_task(kind: Any) -> None:
    scheduler = kind()
    database = tune(scheduler, [task(), task("Add")])
    for mod in (Matmul, Add):
        workload = database.commit_workload(mod)
        mine = [r for r in database.get_all_tuning_records() if r.workload is workload]
        assert len(mine) == 8, "as many as a task may have"
    assert scheduler.remaining_tasks_ == 0
    assert all(t.is_terminated for t in scheduler.tasks_)
    assert [len(t.latency_ms) for t in scheduler.tasks_] == [8, 8]


@pytest.mark.parametrize("kind", KINDS)
def test_trials_of_all_tasks(kind: Any) -> None:
    database = tune(kind(), [task(), task("Add")], max_trials_global=6, max_trials_per_task=100)
    assert len(database) == 6


def test_one_batch_may_go_beyond() -> None:
    options = {"max_trials_global": 3, "max_trials_per_task": 10, "num_trials_per_iter": 64}
    assert len(tune(RoundRobin(), [task()], **options)) == 10


@pytest.mark.parametrize("kind", KINDS)
def test_seconds(kind: Any) -> None:
    assert len(tune(kind(), [task()], max_seconds_global=0.0)) == 0


def test_errors_are_counted() -> None:
    @derived_object
    class EverySecond(PyBuilder):
        def build(self, build_inputs: list[BuilderInput]) -> list[BuilderResult]:
            return [
                BuilderResult(None, "no") if i % 2 else BuilderResult("test_path", None)
                for i, _ in enumerate(build_inputs)
            ]

    scheduler = RoundRobin()
    database = tune(scheduler, [task()], builder=EverySecond(), num_trials_per_iter=8)
    (record,) = scheduler.tasks_
    assert (record.build_error_count, record.run_error_count) == (4, 0)
    assert [r.error_msg for r in record.runner_results] == [None, "no"] * 4
    assert [r.is_valid() for r in database.get_all_tuning_records()] == [True, False] * 4


@derived_object
class NoCandidates(PySearchStrategy):
    """Has nothing to measure for some rounds, then is done."""

    def __init__(self, rounds: int) -> None:
        super().__init__()
        self.rounds = rounds

    def _initialize_with_tune_context(self, context: Any) -> None:
        pass

    def pre_tuning(self, *args: Any, **kwargs: Any) -> None:
        pass

    def post_tuning(self) -> None:
        pass

    def generate_measure_candidates(self) -> list[Any] | None:
        if self.rounds:
            self.rounds -= 1
            return []
        return None

    def notify_runner_results(self, *args: Any) -> None:
        pass

    def clone(self) -> Any:
        return NoCandidates(self.rounds)


@pytest.mark.parametrize("kind", KINDS)
def test_strategies_without_candidates(kind: Any) -> None:
    tasks = [task(search_strategy=NoCandidates(rounds)) for rounds in (5, 0, 2)]
    scheduler = kind()
    assert len(tune(scheduler, tasks)) == 0
    assert scheduler.remaining_tasks_ == 0


def test_statistics(capsys: pytest.CaptureFixture[str]) -> None:
    scheduler = RoundRobin()
    tune(scheduler, [task(), task("Add")], max_trials_global=1, num_trials_per_iter=1)
    scheduler.tasks_[0].latency_ms = [0.5, 0.25]
    scheduler.tasks_[0].task_weight = 2.0
    scheduler.print_tuning_statistics()
    lines = capsys.readouterr().out.splitlines()
    head = [cell.strip() for cell in lines[0].split("|")]
    assert head == ["ID", "Name", "FLOP", "Weight", "Speed (GFLOPS)", "Latency (us)",
                    "Weighted Latency (us)", "Trials", "Done"]  # fmt: skip
    assert [cell.strip() for cell in lines[2].split("|")] == [
        "0", "Matmul", "524288", "2", "2.0972", "250.0000", "500.0000", "2", "Y"]  # fmt: skip
    assert [cell.strip() for cell in lines[3].split("|")] == [
        "1", "Add", "32", "1", "N/A", "N/A", "N/A", "0", "Y"]  # fmt: skip
    assert lines[-2:] == ["Total trials: 2", "Total latency (us): 500"] or lines[-3:] == [
        "Total trials: 2", "Total latency (us): 500", ""]  # fmt: skip


def test_next_task_is_not_defined() -> None:
    @derived_object
    class Empty(PyTaskScheduler):
        pass

    with pytest.raises(TVMError, match=r"PyTaskScheduler's NextTaskId method not implemented!"):
        Empty().next_task_id()


def test_schedulers_go_when_nobody_holds_them() -> None:
    scheduler = AnyTask()
    ref = weakref.ref(scheduler)
    del scheduler
    assert ref() is None


def test_weights_fit_tasks() -> None:
    with pytest.raises(ValueError, match=r"found: 1 tasks and 2 weights"):
        RoundRobin().tune([task()], [1.0, 1.0], 1, 1, 1, DummyBuilder(), DummyRunner(), [], None,
                          None)  # fmt: skip


def test_a_task_ends_once() -> None:
    scheduler = RoundRobin()
    tune(scheduler, [task()], max_trials_global=2)
    with pytest.raises(TVMError, match="it has ended before"):
        scheduler.terminate_task(0)


def test_create() -> None:
    assert isinstance(TaskScheduler.create(), GradientBased)
    assert isinstance(TaskScheduler.create("round-robin"), RoundRobin)
    with pytest.raises(ValueError, match=r"Unknown TaskScheduler: fair"):
        TaskScheduler.create("fair")


def test_schedulers_of_users_need_no_number_of_trials_for_a_batch() -> None:
    for args in (
        ([], [], 8, 8, None, None, [], None, None),
        ([], [], 8, 8, 4, None, None, [], None, None),
    ):
        scheduler = AnyTask()
        scheduler.tune(*args)
        assert scheduler.remaining_tasks_ == 0
    named = {"builder": None, "runner": None, "measure_callbacks": [], "database": None}
    AnyTask().tune([], [], 8, 8, **named, cost_model=None)
