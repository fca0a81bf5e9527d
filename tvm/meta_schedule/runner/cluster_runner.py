"""Measure on those nodes of a cluster whose machine is the target's."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from tvm.meta_schedule.cluster import node as at_node
from tvm.meta_schedule.cluster.address import cluster_at
from tvm.meta_schedule.cluster.cluster import Cluster
from tvm.meta_schedule.cluster.machine import describe
from tvm.support.checkpoint import wait_for

from .config import EvaluatorConfig
from .runner import PyRunner, PyRunnerFuture, RunnerFuture, RunnerInput, RunnerResult


class ClusterRunnerFuture(PyRunnerFuture):
    """A measurement that goes on somewhere."""

    def __init__(self, cluster: Cluster, future: Future[Any]) -> None:
        super().__init__()
        self._cluster = cluster
        self._future = future

    def done(self) -> bool:
        """Whether it is over."""
        return self._future.done()

    def result(self) -> RunnerResult:
        """What was measured; waits for it."""
        try:
            wait_for(self._future, "the next measurement")
        except BaseException:
            self._cluster.cancel([self._future])
            raise
        try:
            seconds, error = self._future.result()
        except Exception as err:
            seconds, error = None, f"ClusterRunner: An exception occurred\n{err}"
        return RunnerResult(seconds, error)


class ClusterRunner(PyRunner):
    """Measures on all fitting nodes of a cluster at once, one measurement at a time on each.

    `machine` is a CPU by LLVM's name, by default this machine's.
    """

    def __init__(
        self,
        cluster: Cluster | str,
        *,
        machine: str | None = None,
        timeout_sec: float = 30.0,
        evaluator_config: EvaluatorConfig | None = None,
    ) -> None:
        super().__init__()
        self.cluster = cluster_at(cluster) if isinstance(cluster, str) else cluster
        self.machine = describe()[0] if machine is None else machine
        self.timeout_sec = timeout_sec
        self.evaluator_config = EvaluatorConfig._normalized(evaluator_config)

    def run(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerFuture]:
        """Start all measurements."""
        return [self._start(given) for given in runner_inputs]

    def _start(self, given: RunnerInput) -> RunnerFuture:
        path = Path(given.artifact_path)
        future = self.cluster.submit(
            "measure", at_node.measure, path.read_bytes(), path.name, given.device_type,
            [info.as_json() for info in given.args_info], tuple(self.evaluator_config),
            self.timeout_sec, given.best_s, machine=self.machine,
        )  # fmt: skip
        return ClusterRunnerFuture(self.cluster, future)


class RayRunner(ClusterRunner):
    """Measures on the nodes of a Ray cluster."""

    def __init__(self, address: Cluster | str = "ray://local", **options: Any) -> None:
        super().__init__(address, **options)


class DaskRunner(ClusterRunner):
    """Measures on the workers of a Dask cluster."""

    def __init__(self, address: Cluster | str = "dask://local", **options: Any) -> None:
        super().__init__(address, **options)
