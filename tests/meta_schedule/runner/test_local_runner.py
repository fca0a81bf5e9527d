"""Measuring in a worker process of this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tvm
from tests.meta_schedule.programs import Matmul
from tests.meta_schedule.schedules import LLVM
from tvm import te
from tvm.ffi import get_global_func
from tvm.ir.module import IRModule
from tvm.meta_schedule.arg_info import ArgInfo
from tvm.meta_schedule.builder.local_builder import default_build, default_export
from tvm.meta_schedule.runner import (
    EvaluatorConfig,
    LocalRunner,
    LocalRunnerFuture,
    RunnerInput,
    RunnerResult,
)
from tvm.meta_schedule.runner.local_runner import default_alloc_argument
from tvm.meta_schedule.utils import remove_build_dir

pytestmark = pytest.mark.cpu
ONCE = EvaluatorConfig(number=1, repeat=2, min_repeat_ms=0, enable_cpu_cache_flush=True)


@pytest.fixture(scope="module")
def built() -> Iterator[RunnerInput]:
    path = default_export(default_build(Matmul, LLVM, None))
    yield RunnerInput(path, "llvm", ArgInfo.from_prim_func(Matmul["main"]))
    remove_build_dir(path)


def run(runner: LocalRunner, given: RunnerInput) -> RunnerResult:
    (future,) = runner.run([given])
    assert future.done()
    return future.result()


def test_times(built: RunnerInput) -> None:
    result = run(LocalRunner(evaluator_config=ONCE, alloc_repeat=2), built)
    assert result.error_msg is None
    assert len(result.run_secs) == 4
    assert all(t > 0 for t in result.run_secs)


def _check_evaluator(rt_mod: Any, device: Any, config: Any, repeated_args: Any) -> list[float]:
    for a, b, c in repeated_args:
        rt_mod(a, b, c)
        np.testing.assert_allclose(c.numpy(), a.numpy() @ b.numpy(), rtol=1e-4)
    return [1.0, 2.0]


def test_functions_of_a_user(built: RunnerInput) -> None:
    def alloc(device: Any, args_info: Any, alloc_repeat: int) -> Any:
        return default_alloc_argument(device, args_info, alloc_repeat)

    runner = LocalRunner(f_alloc_argument=alloc, f_run_evaluator=_check_evaluator)
    assert run(runner, built).run_secs == [1.0, 2.0]


def _register() -> None:
    @tvm.register_global_func("tests.runner.sleep", override=True)
    def sleep(device: Any, args_info: Any, alloc_repeat: int) -> Any:
        time.sleep(6000)

    @tvm.register_global_func("tests.runner.fail", override=True)
    def fail(device: Any, args_info: Any, alloc_repeat: int) -> Any:
        raise ValueError("no memory")


def _clean() -> None:
    raise ValueError("cleaned up last")


def test_clean_up_is_last() -> None:
    result = run(LocalRunner(f_cleanup=_clean), RunnerInput("none", "llvm", []))
    assert result.error_msg == "LocalRunner: An exception occurred\ncleaned up last"


def test_a_worker_that_hangs_is_replaced(built: RunnerInput) -> None:
    runner = LocalRunner(
        timeout_sec=2, f_alloc_argument="tests.runner.sleep", initializer=_register
    )
    result = run(runner, built)
    assert result.run_secs is None
    assert result.error_msg == "LocalRunner: Timeout, killed after 2 seconds\n"
    runner.f_alloc_argument = None
    runner.evaluator_config = ONCE
    runner.pool._timeout = 3600
    assert run(runner, built).error_msg is None


def test_errors_are_results(built: RunnerInput) -> None:
    runner = LocalRunner(f_alloc_argument="tests.runner.fail", initializer=_register)
    result = run(runner, built)
    assert result.run_secs is None
    assert result.error_msg.startswith("LocalRunner: An exception occurred\n")
    assert "no memory" in result.error_msg


def _abort(device: Any, args_info: Any, alloc_repeat: int) -> Any:
    os.abort()


def test_a_worker_that_crashes_is_replaced(built: RunnerInput) -> None:
    runner = LocalRunner(f_alloc_argument=_abort, evaluator_config=ONCE)
    why = "LocalRunner: An exception occurred\nthe worker process died"
    assert run(runner, built).error_msg == why
    runner.f_alloc_argument = None
    assert run(runner, built).error_msg is None


def test_unknown_function() -> None:
    with pytest.raises(ValueError, match=r"'wrong-name' is not registered on the worker process"):
        LocalRunner(f_cleanup="wrong-name")


def test_future_has_one_of_both() -> None:
    assert LocalRunnerFuture(res=[1.0]).result().run_secs == [1.0]
    for given in ({}, {"res": [1.0], "error_message": "no"}):
        with pytest.raises(AttributeError, match=r"Only one of the two fields should be None"):
            LocalRunnerFuture(**given)


def test_by_name() -> None:
    assert isinstance(get_global_func("meta_schedule.runner.get_local_runner")(), LocalRunner)


def _told_best(rt_mod: Any, device: Any, config: Any, repeated_args: Any) -> list[float]:
    return [config.best_s]


def test_the_best_time_is_told(built: RunnerInput) -> None:
    runner = LocalRunner(evaluator_config=ONCE, f_run_evaluator=_told_best)
    runner.warm_up()
    given = RunnerInput(built.artifact_path, "llvm", built.args_info, best_s=0.25)
    assert run(runner, given).run_secs == [0.25]


def test_another_result_than_the_reference_is_an_error(built: RunnerInput) -> None:
    shape = [int(d) for d in built.args_info[0].shape]  # type: ignore[attr-defined]
    a, b = te.placeholder(shape, name="A"), te.placeholder(shape, name="B")
    k = te.reduce_axis((0, shape[1]), name="k")
    twice = te.compute(shape, lambda i, j: te.sum(a[i, k] * b[k, j] * 2.0, axis=k), name="C")
    wrong = IRModule({"main": te.create_prim_func([a, b, twice])})
    other = default_export(default_build(wrong, LLVM, None))
    for reference, error in ((built.artifact_path, None), (other, "wrong result")):
        given = RunnerInput(built.artifact_path, "llvm", built.args_info, reference=reference)
        result = run(LocalRunner(evaluator_config=ONCE), given)
        assert (error or "None") in str(result.error_msg)
    remove_build_dir(other)


def _eat(rt_mod: Any, device: Any, config: Any, repeated_args: Any) -> list[float]:
    eaten = [np.ones(1 << 28, "uint8") for _ in range(1 << 20)]
    return [float(len(eaten))]


def test_who_eats_memory_is_refused_it(built: RunnerInput) -> None:
    runner = LocalRunner(f_run_evaluator=_eat, initializer=_has_little)
    result = run(runner, built)
    assert result.run_secs is None
    for error in (result.error_msg, run(runner, built).error_msg):  # again by the same worker
        assert "Unable to allocate" in error


def _has_little() -> None:
    """As on a machine with half a gigabyte left."""
    from tvm.meta_schedule.runner import local_runner

    local_runner.memory_left = lambda: 1 << 29
