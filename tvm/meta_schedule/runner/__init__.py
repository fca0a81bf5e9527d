"""Runners: how long compiled code takes, measured here or on other machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .config import EvaluatorConfig, RPCConfig
from .local_runner import LocalRunner, LocalRunnerFuture
from .rpc_runner import RPCRunner
from .runner import (
    PyRunner,
    PyRunnerFuture,
    Runner,
    RunnerFuture,
    RunnerInput,
    RunnerResult,
    create,
)

if TYPE_CHECKING:
    from .cluster_runner import ClusterRunner, DaskRunner, RayRunner

__all__ = [
    "ClusterRunner", "DaskRunner", "RayRunner",
    "EvaluatorConfig", "RPCConfig", "LocalRunner", "LocalRunnerFuture", "RPCRunner", "PyRunner",
    "PyRunnerFuture", "Runner", "RunnerFuture", "RunnerInput", "RunnerResult", "create",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Runners of clusters, once somebody asks: nodes use local ones."""
    if name in ("ClusterRunner", "DaskRunner", "RayRunner"):
        from . import cluster_runner

        return getattr(cluster_runner, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
