"""Parts that pretend."""

from __future__ import annotations

import pytest

from tests.meta_schedule.programs import Matmul
from tests.meta_schedule.schedules import LLVM, scheduled
from tvm.meta_schedule.builder import BuilderInput
from tvm.meta_schedule.runner import RunnerInput
from tvm.meta_schedule.testing.dummy_object import DummyBuilder, DummyMutator, DummyRunner

pytestmark = pytest.mark.pure


def test_builds_and_runs() -> None:
    (built,) = DummyBuilder().build([BuilderInput(Matmul, LLVM)])
    assert (built.artifact_path, built.error_msg) == ("test_path", None)
    (future,) = DummyRunner().run([RunnerInput("test_path", "llvm", [])])
    assert future.done()
    assert all(5 <= t <= 30 for t in future.result().run_secs)


def test_mutates_nothing() -> None:
    trace = scheduled().trace
    assert str(DummyMutator().clone().apply(trace, None)) == str(trace)
