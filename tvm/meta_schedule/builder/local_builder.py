"""Compile in worker processes on this machine.

A worker outlives its task. One that crashes, or takes longer than `timeout_sec`, costs only its
own task: the next one gets a new process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tvm.contrib.popen_pool import MapResult, PopenPoolExecutor, StatusKind
from tvm.ffi import register_global_func
from tvm.ir.module import IRModule
from tvm.meta_schedule.logging import get_logger
from tvm.meta_schedule.utils import (
    cpu_count,
    derived_object,
    get_global_func_with_default_on_worker,
)
from tvm.runtime import Module, Tensor
from tvm.support.scratch import scratch_folder
from tvm.target.target import Target
from tvm.tir.build import build as tir_build
from tvm.tir.transform import RemoveWeightLayoutRewriteBlock

from .builder import BuilderInput, BuilderResult, PyBuilder

T_BUILD: TypeAlias = Callable[[IRModule, Target, Mapping[str, Tensor] | None], Module]
T_EXPORT: TypeAlias = Callable[[Module], str]
_LOG = get_logger(__name__)


@derived_object
class LocalBuilder(PyBuilder):
    """Builds with `f_build(mod, target, params)`, and writes with `f_export(module) -> path`.

    Both are functions, or names that `initializer` registers in each worker.
    """

    def __init__(
        self,
        *,
        max_workers: int | None = None,
        timeout_sec: float = 30.0,
        f_build: str | T_BUILD | None = None,
        f_export: str | T_EXPORT | None = None,
        initializer: Callable[[], None] | None = None,
    ) -> None:
        super().__init__()
        self.max_workers = cpu_count(logical=True) if max_workers is None else max_workers
        self.timeout_sec = timeout_sec
        self.initializer = initializer
        self.f_build = f_build
        self.f_export = f_export
        _LOG.info("LocalBuilder: max_workers = %d", self.max_workers)
        self._pool = PopenPoolExecutor(self.max_workers, timeout_sec, initializer)
        if isinstance(f_build, str) or isinstance(f_export, str):
            self._pool.submit(_check, f_build, f_export).result()

    def warm_up(self) -> None:
        """Start the processes, which load meanwhile."""
        for _ in range(self.max_workers):
            self._pool.submit(_load)

    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        """The paths of the compiled files; workers share the inputs."""
        tasks = [(self.f_build, self.f_export, i.mod, i.target, i.params) for i in build_inputs]
        try:
            results = self._pool.map_with_error_catching(_build, tasks)
            return [self._result(done) for done in results]
        except BaseException:  # Ctrl-C, or a time limit: nobody waits for the rest
            self._pool.end_tasks()
            raise

    def _result(self, done: MapResult) -> BuilderResult:
        if done.status == StatusKind.COMPLETE:
            return BuilderResult(done.value, None)
        if done.status == StatusKind.TIMEOUT:
            why = f"LocalBuilder: Timeout, killed after {self.timeout_sec} seconds"
        else:
            why = f"LocalBuilder: An exception occurred\n{done.value}"
        return BuilderResult(None, why)


def _load() -> None:
    """What the first build would wait for."""
    from tvm.backend.llvm import jit

    jit.host_machine()


def _check(f_build: str | T_BUILD | None, f_export: str | T_EXPORT | None) -> None:
    """Raise in the worker if it does not know the functions."""
    get_global_func_with_default_on_worker(f_build, default_build)
    get_global_func_with_default_on_worker(f_export, default_export)


def _build(task: tuple[Any, ...]) -> str:
    f_build, f_export, mod, target, params = task
    # all cores have a worker already: LLVM is not to start processes of its own
    os.environ.setdefault("TVM_COMPILE_WORKERS", "0")
    build = get_global_func_with_default_on_worker(f_build, default_build)
    export = get_global_func_with_default_on_worker(f_export, default_export)
    return str(export(build(mod, target, params)))


@register_global_func("tvm.meta_schedule.builder.default_build", override=True)
def default_build(mod: IRModule, target: Target, _params: Mapping[str, Tensor] | None) -> Module:
    """Compile with the target's own pipeline; blocks that only lay out weights are left out."""
    return tir_build(RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)(mod), target)


@register_global_func("tvm.meta_schedule.builder.default_export", override=True)
def default_export(mod: Module) -> str:
    """Write an archive into a new folder; its path."""
    folder = scratch_folder("tvm-build-", owner=os.getppid())  # the tuner's, which outlives us
    path = os.path.join(folder, "tvm_tmp_mod.tar")
    mod.export_library(path)
    return path


@register_global_func("meta_schedule.builder.get_local_builder", override=True)
def get_local_builder() -> LocalBuilder:
    """A builder with all defaults."""
    return LocalBuilder()
