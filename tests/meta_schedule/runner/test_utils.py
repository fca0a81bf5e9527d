"""Arguments to measure with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tvm.meta_schedule.runner import EvaluatorConfig
from tvm.meta_schedule.runner.utils import alloc_argument_common, run_evaluator_common
from tvm.runtime import cpu
from tvm.runtime.benchmark import BenchmarkResult

pytestmark = pytest.mark.cpu


def test_arguments() -> None:
    filled: list[object] = []
    infos = [["TENSOR", "float16", [2, 3]], ["TENSOR", "int8", []]]
    made = alloc_argument_common(filled.append, cpu(), infos, 2)
    assert [[(tuple(t.shape), str(t.dtype)) for t in args] for args in made] == [
        [((2, 3), "float16"), ((), "int8")]
    ] * 2
    assert len(filled) == 4


def test_unknown_kind() -> None:
    with pytest.raises(ValueError, match=r"an argument to measure with"):
        alloc_argument_common(print, cpu(), [["SCALAR", "int32", 1]], 1)


class Clock:
    """A device on which time passes only in calls: each takes the next of the given seconds."""

    def __init__(self, *seconds: float) -> None:
        self.left = list(seconds)
        self.now = 0.0
        self.calls = 0

    def call(self, *_args: object) -> None:
        self.calls += 1
        self.now += self.left.pop(0) if len(self.left) > 1 else self.left[0]

    def seconds(self, work: Callable[[], None]) -> float:
        before = self.now
        work()
        return self.now - before

    def sync(self) -> None:
        pass


class Compiled:
    """A module whose function takes the clock's time; thorough measuring answers 7 seconds."""

    entry_name = "main"

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def get_function(self, name: str, query_imports: bool) -> Callable[..., None]:
        return self.clock.call

    def time_evaluator(self, *_args: object, **_options: object) -> Callable[..., BenchmarkResult]:
        return lambda *args: BenchmarkResult([7.0])


@pytest.mark.parametrize(
    ("seconds", "calls", "found"),
    [
        ([9.0], 1, 9.0),  # nothing that comes with a first call makes it that slow
        ([0.04, 0.03], 2, 0.03),  # the second run tells
        ([0.04, 0.01, 0.02], 5, 0.02),  # three more do
        ([0.04, 0.01], 5, 7.0),  # as fast as the best: it is measured in full
    ],
)
def test_what_is_far_slower_is_measured_by_few_runs(
    seconds: list[float], calls: int, found: float
) -> None:
    clock = Clock(*seconds)
    config = EvaluatorConfig(number=3, best_s=0.01)
    measured: Any = run_evaluator_common(Compiled(clock), clock, config, [[]])  # type: ignore[arg-type]
    assert measured == [pytest.approx(found)]
    assert clock.calls == calls
