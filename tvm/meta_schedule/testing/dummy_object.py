"""Parts that pretend: builds without files, times out of thin air."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from tvm.meta_schedule.builder import BuilderInput, BuilderResult, PyBuilder
from tvm.meta_schedule.mutator import PyMutator
from tvm.meta_schedule.runner import (
    PyRunner,
    PyRunnerFuture,
    RunnerFuture,
    RunnerInput,
    RunnerResult,
)
from tvm.meta_schedule.utils import derived_object
from tvm.tir.schedule import Trace


@derived_object
class DummyRunnerFuture(PyRunnerFuture):
    """Done, with up to ten random times."""

    def done(self) -> bool:
        """Always true."""
        return True

    def result(self) -> RunnerResult:
        """Random times."""
        return RunnerResult([random.uniform(5, 30) for _ in range(random.randint(1, 10))], None)


@derived_object
class DummyBuilder(PyBuilder):
    """Says that everything was built."""

    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        """The same path for all."""
        return [BuilderResult("test_path", None) for _ in build_inputs]


@derived_object
class DummyRunner(PyRunner):
    """Says that everything ran."""

    def run(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerFuture]:
        """Random times for all."""
        return [DummyRunnerFuture() for _ in runner_inputs]


@derived_object
class DummyMutator(PyMutator):
    """Leaves traces as they are."""

    def apply(self, trace: Trace, _: Any = None) -> Trace | None:
        """A copy of the trace."""
        return trace.copy()

    def clone(self) -> DummyMutator:
        """Another one."""
        return DummyMutator()
