"""Task schedulers: which of several searches goes on next."""

from .gradient_based import GradientBased
from .round_robin import RoundRobin
from .task_record import TaskRecord
from .task_scheduler import PyTaskScheduler, TaskScheduler, create

__all__ = [
    "GradientBased", "PyTaskScheduler", "RoundRobin", "TaskRecord", "TaskScheduler", "create",
]  # fmt: skip
