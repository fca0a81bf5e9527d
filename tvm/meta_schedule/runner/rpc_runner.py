"""Measure on servers that a tracker lends; each session is driven by a worker process here."""

from __future__ import annotations

import concurrent.futures
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from tvm.contrib.popen_pool import PopenPoolExecutor
from tvm.error import RPCError
from tvm.meta_schedule.logging import get_logger
from tvm.meta_schedule.profiler import Profiler
from tvm.meta_schedule.utils import (
    cpu_count,
    derived_object,
    get_global_func_on_rpc_session,
    get_global_func_with_default_on_worker,
)
from tvm.rpc import RPCSession
from tvm.runtime import Device, Module
from tvm.support.checkpoint import wait_for

from .config import EvaluatorConfig, RPCConfig
from .runner import PyRunner, PyRunnerFuture, RunnerFuture, RunnerInput, RunnerResult
from .utils import (
    T_ARG_INFO_JSON_OBJ_LIST,
    T_ARGUMENT_LIST,
    alloc_argument_common,
    run_evaluator_common,
)

T_CREATE_SESSION: TypeAlias = Callable[[RPCConfig], RPCSession]
T_UPLOAD_MODULE: TypeAlias = Callable[[RPCSession, str, str], Module]
T_ALLOC_ARGUMENT: TypeAlias = Callable[
    [RPCSession, Device, T_ARG_INFO_JSON_OBJ_LIST, int], list[T_ARGUMENT_LIST]
]
T_RUN_EVALUATOR: TypeAlias = Callable[
    [RPCSession, Module, Device, EvaluatorConfig, list[T_ARGUMENT_LIST]], list[float]
]
T_CLEANUP: TypeAlias = Callable[[RPCSession | None, str | None], None]
_LOG = get_logger(__name__)


@derived_object
class RPCRunnerFuture(PyRunnerFuture):
    """A measurement under way on a server."""

    def __init__(
        self, future: concurrent.futures.Future[list[float]], timeout_sec: float
    ) -> None:
        super().__init__()
        self.future = future
        self.timeout_sec = timeout_sec

    def done(self) -> bool:
        """Whether the result is there."""
        return self.future.done()

    def result(self) -> RunnerResult:
        """What was measured; waits for it."""
        wait_for(self.future, "the next measurement")
        try:
            return RunnerResult(self.future.result(), None)
        except TimeoutError:
            why = f"RPCRunner: Timeout, killed after {self.timeout_sec} seconds"
        except Exception as err:
            why = f"RPCRunner: An exception occurred\n{err}"
        return RunnerResult(None, why)


@derived_object
class RPCRunner(PyRunner):
    """Measures on all servers of a key at once.

    The functions may be names that `initializer` registers in each worker; `session_timeout_sec`
    of the config limits a measurement.
    """

    def __init__(
        self,
        rpc_config: RPCConfig | None = None,
        evaluator_config: EvaluatorConfig | None = None,
        cooldown_sec: float = 0.0,
        alloc_repeat: int = 1,
        f_create_session: T_CREATE_SESSION | str | None = None,
        f_upload_module: T_UPLOAD_MODULE | str | None = None,
        f_alloc_argument: T_ALLOC_ARGUMENT | str | None = None,
        f_run_evaluator: T_RUN_EVALUATOR | str | None = None,
        f_cleanup: T_CLEANUP | str | None = None,
        max_workers: int | None = None,
        initializer: Callable[[], None] | None = None,
    ) -> None:
        super().__init__()
        self.rpc_config = RPCConfig._normalized(rpc_config)
        self.evaluator_config = EvaluatorConfig._normalized(evaluator_config)
        self.cooldown_sec = cooldown_sec
        self.alloc_repeat = alloc_repeat
        self.f_create_session = f_create_session
        self.f_upload_module = f_upload_module
        self.f_alloc_argument = f_alloc_argument
        self.f_run_evaluator = f_run_evaluator
        self.f_cleanup = f_cleanup
        if max_workers is None:
            max_workers = max(cpu_count(logical=True) - 1, 1)
            max_workers = max(min(self.rpc_config.count_num_servers(True), max_workers), 1)
        _LOG.info("RPCRunner: max_workers = %d", max_workers)
        self.pool = PopenPoolExecutor(
            max_workers, self.rpc_config.session_timeout_sec, initializer
        )
        if any(isinstance(f, str) for f in self._functions()):
            self.pool.submit(_check, self._functions()).result()

    def _functions(self) -> tuple[Any, ...]:
        return (
            self.f_create_session, self.f_upload_module, self.f_alloc_argument,
            self.f_run_evaluator, self.f_cleanup,
        )  # fmt: skip

    def run(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerFuture]:
        """Start all measurements."""
        return [self._start(given) for given in runner_inputs]

    def _start(self, given: RunnerInput) -> RunnerFuture:
        future = self.pool.submit(
            _measure,
            self._functions(),
            self.rpc_config,
            self.evaluator_config,
            self.cooldown_sec,
            self.alloc_repeat,
            given.artifact_path,
            given.device_type,
            [info.as_json() for info in given.args_info],
        )
        return RPCRunnerFuture(future, self.rpc_config.session_timeout_sec)


def _check(given: Sequence[Any]) -> None:
    """Raise in the worker if it does not know the functions."""
    for func in given:
        get_global_func_with_default_on_worker(func, default_cleanup)


def _measure(
    functions: Sequence[Any],
    rpc_config: RPCConfig,
    evaluator_config: EvaluatorConfig,
    cooldown_sec: float,
    alloc_repeat: int,
    artifact_path: str,
    device_type: str,
    args_info: T_ARG_INFO_JSON_OBJ_LIST,
) -> list[float]:
    defaults: tuple[Callable[..., Any], ...] = (
        default_create_session, default_upload_module, default_alloc_argument,
        default_run_evaluator, default_cleanup,
    )  # fmt: skip
    create, upload, alloc, run, cleanup = (
        get_global_func_with_default_on_worker(given, default)
        for given, default in zip(functions, defaults)
    )
    folder, name = os.path.split(artifact_path)
    remote_path = f"{os.path.basename(folder)}-{name}"  # all artefacts have the same name
    with _session(create, cleanup, rpc_config, remote_path) as session:
        with Profiler.timeit("RPCRunner/upload_module"):
            module, dev = upload(session, artifact_path, remote_path), session.device(device_type)
        with Profiler.timeit("RPCRunner/alloc_argument"):
            repeated_args = alloc(session, dev, args_info, alloc_repeat)
        with Profiler.timeit("RPCRunner/run_evaluator"):
            costs = run(session, module, dev, evaluator_config, repeated_args)
    time.sleep(cooldown_sec)
    return [float(cost) for cost in costs]


@contextmanager
def _session(
    create: T_CREATE_SESSION, cleanup: T_CLEANUP, rpc_config: RPCConfig, remote_path: str
) -> Iterator[RPCSession]:
    session: RPCSession | None = None
    try:
        with Profiler.timeit("RPCRunner/create_session"):
            session = create(rpc_config)
        yield session
    finally:
        cleanup(session, remote_path)


def default_create_session(rpc_config: RPCConfig) -> RPCSession:
    """A session with a free server."""
    return rpc_config.connect_server()


def default_upload_module(session: RPCSession, local_path: str, remote_path: str) -> Module:
    """The module, loaded at the server."""
    session.upload(local_path, remote_path)
    return session.load_module(remote_path)


def default_alloc_argument(
    session: RPCSession, device: Device, args_info: T_ARG_INFO_JSON_OBJ_LIST, alloc_repeat: int
) -> list[T_ARGUMENT_LIST]:
    """Tensors at the server, with random numbers."""
    fill = get_global_func_on_rpc_session(
        session, "tvm.contrib.random.random_fill_for_measure",
        "Please make sure that the server runs a runtime that has it.",
    )  # fmt: skip
    return alloc_argument_common(fill, device, args_info, alloc_repeat)


def default_run_evaluator(
    session: RPCSession,
    rt_mod: Module,
    device: Device,
    evaluator_config: EvaluatorConfig,
    repeated_args: list[T_ARGUMENT_LIST],
) -> list[float]:
    """Seconds of the module's entry, measured at the server."""
    return run_evaluator_common(rt_mod, device, evaluator_config, repeated_args)


def default_cleanup(session: RPCSession | None, remote_path: str | None) -> None:
    """Delete what was uploaded."""
    if session is None or remote_path is None:
        return
    try:
        session.remove(remote_path)
    except RPCError as err:  # the server has gone, and its folder with it
        _LOG.debug("clean-up of %s: %s", remote_path, err)
