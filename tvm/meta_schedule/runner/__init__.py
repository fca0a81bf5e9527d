"""Runners: how long compiled code takes, measured here or on machines that a tracker lends."""

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

__all__ = [
    "EvaluatorConfig", "RPCConfig", "LocalRunner", "LocalRunnerFuture", "RPCRunner", "PyRunner",
    "PyRunnerFuture", "Runner", "RunnerFuture", "RunnerInput", "RunnerResult", "create",
]  # fmt: skip
