"""Measure on this machine, in a worker process that is replaced when it crashes or hangs."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from tvm.contrib.popen_pool import PopenPoolExecutor
from tvm.ffi import get_global_func, register_global_func
from tvm.meta_schedule.logging import get_logger
from tvm.meta_schedule.profiler import Profiler
from tvm.meta_schedule.utils import derived_object, get_global_func_with_default_on_worker
from tvm.runtime import Device, Module
from tvm.runtime import device as find_device
from tvm.runtime.module import load_own
from tvm.support.checkpoint import wait_for
from tvm.support.memory_limit import limit_memory, memory_left

from .config import EvaluatorConfig
from .right_results import check_results
from .runner import PyRunner, PyRunnerFuture, RunnerFuture, RunnerInput, RunnerResult
from .utils import (
    T_ARG_INFO_JSON_OBJ_LIST,
    T_ARGUMENT_LIST,
    alloc_argument_common,
    run_evaluator_common,
)

T_ALLOC_ARGUMENT: TypeAlias = Callable[
    [Device, T_ARG_INFO_JSON_OBJ_LIST, int], list[T_ARGUMENT_LIST]
]
T_RUN_EVALUATOR: TypeAlias = Callable[
    [Module, Device, EvaluatorConfig, list[T_ARGUMENT_LIST]], list[float]
]
T_CLEANUP: TypeAlias = Callable[[], None]
_LOG = get_logger(__name__)


@derived_object
class LocalRunnerFuture(PyRunnerFuture):
    """A measurement that is over: its seconds or its error, one of the two."""

    def __init__(self, res: list[float] | None = None, error_message: str | None = None) -> None:
        super().__init__()
        self.res = res
        self.error_message = error_message
        if (res is None) == (error_message is None):
            raise AttributeError(
                "Only one of the two fields should be None: res, error_message; "
                f"found res={res!r}, error_message={error_message!r}"
            )

    def done(self) -> bool:
        """Always true."""
        return True

    def result(self) -> RunnerResult:
        """What was measured."""
        return RunnerResult(self.res, self.error_message)


@derived_object
class LocalRunner(PyRunner):
    """Measures one file after the other.

    `f_alloc_argument`, `f_run_evaluator` and `f_cleanup` are functions, or names that `initializer`
    registers in the worker.
    """

    def __init__(
        self,
        timeout_sec: float = 30,
        evaluator_config: EvaluatorConfig | None = None,
        cooldown_sec: float = 0.0,
        alloc_repeat: int = 1,
        f_alloc_argument: T_ALLOC_ARGUMENT | str | None = None,
        f_run_evaluator: T_RUN_EVALUATOR | str | None = None,
        f_cleanup: T_CLEANUP | str | None = None,
        initializer: Callable[[], None] | None = None,
    ) -> None:
        super().__init__()
        self.timeout_sec = timeout_sec
        self.evaluator_config = EvaluatorConfig._normalized(evaluator_config)
        self.cooldown_sec = cooldown_sec
        self.alloc_repeat = alloc_repeat
        self.f_alloc_argument = f_alloc_argument
        self.f_run_evaluator = f_run_evaluator
        self.f_cleanup = f_cleanup
        _LOG.info("LocalRunner: max_workers = 1")
        # one at a time: two that run at once would slow each other down
        self.pool = PopenPoolExecutor(1, timeout_sec, initializer)
        given = (f_alloc_argument, f_run_evaluator, f_cleanup)
        if any(isinstance(f, str) for f in given):
            self.pool.submit(_check, given).result()

    def warm_up(self) -> None:
        """Start the process, which loads meanwhile."""
        self.pool.submit(_load)

    def run(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerFuture]:
        """Measure all; the futures are done."""
        return [self._run_one(given) for given in runner_inputs]

    def _run_one(self, given: RunnerInput) -> RunnerFuture:
        future = self.pool.submit(
            _measure,
            (self.f_alloc_argument, self.f_run_evaluator, self.f_cleanup),
            self.evaluator_config._replace(best_s=given.best_s),
            self.alloc_repeat,
            given.artifact_path,
            given.device_type,
            [info.as_json() for info in given.args_info],
            given.reference,
        )
        result: list[float] | None = None
        error: str | None = None
        try:
            wait_for(future, "the next measurement")
        except BaseException:  # Ctrl-C, or a time limit: nobody waits for it
            self.pool.end_tasks()
            raise
        try:
            result = future.result()
        except TimeoutError:
            error = f"LocalRunner: Timeout, killed after {self.timeout_sec} seconds\n"
        except Exception as err:
            error = f"LocalRunner: An exception occurred\n{err}"
        time.sleep(self.cooldown_sec)
        return LocalRunnerFuture(res=result, error_message=error)


def _load() -> None:
    """What the first measurement would wait for."""
    from tvm.backend.llvm import jit

    jit.host_machine()
    get_global_func("tvm.contrib.random.random_fill_for_measure")


def _check(given: Sequence[Any]) -> None:
    """Raise in the worker if it does not know the functions."""
    for func in given:
        get_global_func_with_default_on_worker(func, default_cleanup)


def _measure(
    functions: Sequence[Any],
    evaluator_config: EvaluatorConfig,
    alloc_repeat: int,
    artifact_path: str,
    device_type: str,
    args_info: T_ARG_INFO_JSON_OBJ_LIST,
    reference: str | None,
) -> list[float]:
    defaults: tuple[Callable[..., Any], ...] = (
        default_alloc_argument, default_run_evaluator, default_cleanup,
    )  # fmt: skip
    alloc, run, cleanup = (
        get_global_func_with_default_on_worker(given, default)
        for given, default in zip(functions, defaults)
    )
    if find_device(device_type, 0).type == "cpu":  # drivers of GPUs reserve memory as they like
        _leave_memory()
    with _afterwards(cleanup):
        with Profiler.timeit("LocalRunner/load_module"):
            module, dev = load_own(artifact_path), find_device(device_type, 0)
        with Profiler.timeit("LocalRunner/alloc_argument"):
            repeated_args = alloc(dev, args_info, alloc_repeat)
        if reference is not None:
            with Profiler.timeit("LocalRunner/check"):
                check_results(module, load_own(reference), repeated_args[0])
        with Profiler.timeit("LocalRunner/run_evaluator"):
            return [float(cost) for cost in run(module, dev, evaluator_config, repeated_args)]


@functools.cache
def _leave_memory() -> None:
    """Once in a worker: what eats memory is refused it, before the machine ends others."""
    left = memory_left()
    if left:
        limit_memory(left - left // 8)


@contextmanager
def _afterwards(cleanup: T_CLEANUP) -> Iterator[None]:
    try:
        yield
    finally:
        cleanup()


def default_alloc_argument(
    device: Device, args_info: T_ARG_INFO_JSON_OBJ_LIST, alloc_repeat: int
) -> list[T_ARGUMENT_LIST]:
    """Tensors with random numbers."""
    fill = get_global_func("tvm.contrib.random.random_fill_for_measure")
    return alloc_argument_common(fill, device, args_info, alloc_repeat)


def default_run_evaluator(
    rt_mod: Module,
    device: Device,
    evaluator_config: EvaluatorConfig,
    repeated_args: list[T_ARGUMENT_LIST],
) -> list[float]:
    """Seconds of the module's entry."""
    return run_evaluator_common(rt_mod, device, evaluator_config, repeated_args)


def default_cleanup() -> None:
    """Nothing is left behind here."""


@register_global_func("meta_schedule.runner.get_local_runner", override=True)
def get_local_builder() -> LocalRunner:
    """A runner with all defaults; the name of the function is that of the original."""
    return LocalRunner()
