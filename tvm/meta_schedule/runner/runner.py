"""What a runner is given, what it answers, and what it has to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeAlias

from tvm.error import message
from tvm.ffi.object import Object
from tvm.meta_schedule.arg_info import ArgInfo
from tvm.meta_schedule.base import Component, unknown_kind
from tvm.meta_schedule.seconds import Seconds, seconds


class RunnerInput(Object):
    """A compiled file, the kind of device it runs on, and what its function takes.

    `best_s` is the fastest time of its program that is known: what is far slower need not be
    measured as thoroughly. `reference` is a compiled file of the same program whose results are
    right: a candidate with others is an error.
    """

    def __init__(
        self,
        artifact_path: str,
        device_type: str,
        args_info: Sequence[ArgInfo] | None,
        *,
        best_s: float | None = None,
        reference: str | None = None,
    ) -> None:
        self.artifact_path = artifact_path
        self.device_type = device_type
        self.args_info = list(args_info or ())
        self.best_s = best_s
        self.reference = reference


class RunnerResult(Object):
    """Measured seconds, or why there are none."""

    def __init__(self, run_secs: Iterable[Any] | None, error_msg: str | None) -> None:
        self.run_secs: list[Seconds] | None = seconds(run_secs)
        self.error_msg = error_msg


class RunnerFuture(Component):
    """A measurement under way, made of two functions."""

    def __init__(
        self, f_done: Callable[[], bool], f_result: Callable[[], RunnerResult] | None = None
    ) -> None:
        if not callable(f_done) or not callable(f_result):
            raise TypeError(
                message(
                    "RunnerFuture",
                    found=f"f_done={f_done!r}, f_result={f_result!r}",
                    legal="two functions",
                )
            )
        self._done, self._result = f_done, f_result

    def done(self) -> bool:
        """Whether the result is there."""
        return bool(self._done())

    def result(self) -> RunnerResult:
        """The result; waits for it."""
        return self._result()


class PyRunnerFuture(RunnerFuture):
    """The base of futures that users write."""

    def __init__(self) -> None:
        """There are no two functions: subclasses define the methods."""

    def done(self) -> bool:
        """Whether the result is there."""
        self._missing("Done")

    def result(self) -> RunnerResult:
        """The result; waits for it."""
        self._missing("Result")


class Runner(Component):
    """Measures compiled files."""

    def warm_up(self) -> None:
        """Begin to start what measuring will need; for kinds that have processes."""

    def run(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerFuture]:
        """Start to measure; one future an input."""
        self._missing("Run")

    @staticmethod
    def create(
        kind: Literal["local", "rpc", "ray", "dask"] | Runner = "local",
        *args: Any,
        **kwargs: Any,
    ) -> Runner:
        """The runner of a kind; a runner is its own."""
        from .cluster_runner import DaskRunner, RayRunner  # which are of our kind
        from .local_runner import LocalRunner
        from .rpc_runner import RPCRunner

        if isinstance(kind, Runner):
            return kind
        kinds: dict[str, Callable[..., Runner]] = {
            "local": LocalRunner,
            "rpc": RPCRunner,
            "ray": RayRunner,
            "dask": DaskRunner,
        }
        if kind not in kinds:
            raise unknown_kind("Runner", kind, kinds)
        return kinds[kind](*args, **kwargs)


RunnerType: TypeAlias = Runner | Literal["local", "rpc", "ray", "dask"]
Runner.RunnerType = RunnerType  # type: ignore[attr-defined]  # the name that signatures use
create = Runner.create


class PyRunner(Runner):
    """The base of runners that users write."""
