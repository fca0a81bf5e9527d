"""A builder and a runner for tests that must not depend on the speed of the machine."""

from __future__ import annotations

from typing import Any

from tvm.meta_schedule.builder import LocalBuilder
from tvm.meta_schedule.runner import EvaluatorConfig, LocalRunner

ONCE = EvaluatorConfig(number=1, repeat=1, min_repeat_ms=0)


def patient() -> dict[str, Any]:
    """Options of a search: one process each, and an hour for each task."""
    return {
        "builder": LocalBuilder(max_workers=1, timeout_sec=3600),
        "runner": LocalRunner(timeout_sec=3600, evaluator_config=ONCE),
    }
