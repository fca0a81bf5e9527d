"""What runners are given and answer, and those that users write."""

from __future__ import annotations

from typing import Any

import pytest

from tvm.error import TVMError
from tvm.meta_schedule import Runner, derived_object
from tvm.meta_schedule.runner import (
    LocalRunner,
    PyRunner,
    PyRunnerFuture,
    RunnerFuture,
    RunnerInput,
    RunnerResult,
)
from tvm.tir import FloatImm

pytestmark = pytest.mark.pure


def test_runner_of_a_user() -> None:
    @derived_object
    class Now(PyRunnerFuture):
        def done(self) -> bool:
            return True

        def result(self) -> RunnerResult:
            return RunnerResult([1.0], None)

    @derived_object
    class Instant(PyRunner):
        def run(self, runner_inputs: list[RunnerInput]) -> list[RunnerFuture]:
            return [Now() for _ in runner_inputs]

    runner = Instant()
    assert isinstance(runner, Runner)
    assert Runner.create(runner) is runner
    (future,) = runner.run([RunnerInput("path", "llvm", [])])
    assert isinstance(future, RunnerFuture)
    assert future.done()
    assert future.result().run_secs == [1.0]


def test_future_of_two_functions() -> None:
    future = RunnerFuture(lambda: 1, lambda: RunnerResult(None, "late"))
    assert future.done() is True
    assert future.result().error_msg == "late"
    with pytest.raises(TypeError, match=r"legal: two functions"):
        RunnerFuture(lambda: True)


def test_times_may_be_constants() -> None:
    result = RunnerResult([FloatImm("float32", 0.5), 2], None)
    assert [t.value for t in result.run_secs] == [0.5, 2.0]


@pytest.mark.parametrize(
    ("base", "method", "name"),
    [(PyRunner, "run", "Run"), (PyRunnerFuture, "done", "Done"),
     (PyRunnerFuture, "result", "Result")],
)  # fmt: skip
def test_missing_methods(base: type, method: str, name: str) -> None:
    Empty = derived_object(type("Empty", (base,), {}))
    args: list[Any] = [[]] if method == "run" else []
    with pytest.raises(TVMError, match=f"{base.__name__}'s {name} method not implemented!"):
        getattr(Empty(), method)(*args)


def test_create() -> None:
    assert isinstance(Runner.create(), LocalRunner)
    assert Runner.create("local", timeout_sec=3).timeout_sec == 3
    with pytest.raises(ValueError, match=r"Unknown Runner: cloud"):
        Runner.create("cloud")
