"""A report as trace events, which Perfetto and chrome://tracing open.

    {"traceEvents": [{"name": "FuseOps", "ph": "X", "ts": 12.0, "dur": 64.7, "pid": 1, ...}, ...]}

Process 1 is the compilation: passes within passes. Process 2 is one run of `main`: its calls of
kernels in order, each as long as the least of its measurements; without any it is empty.
The format is that of Google's "Trace Event Format".
"""

from __future__ import annotations

from typing import Any, Final

from .words import Report

_COMPILE: Final = 1
_RUN: Final = 2


def trace_events(report: Report) -> dict[str, Any]:
    """The events, ready for `json.dump`."""
    events: list[dict[str, Any]] = [
        _name(_COMPILE, "process_name", "compile"),
        _name(_COMPILE, "thread_name", "passes"),
        _name(_RUN, "process_name", "run"),
        _name(_RUN, "thread_name", "main"),
    ]
    for run in report.passes:
        told = {
            "functions": f"{run.functions_before} -> {run.functions_after}",
            "size": f"{run.size_before} -> {run.size_after}", "changed": len(run.changed),
        }  # fmt: skip
        events.append(_event(run.name, "pass", _COMPILE, run.start_us, run.duration_us, told))
    now = 0.0
    for call in report.calls:
        if call.measured_us is None:
            continue
        names = [report.sources[number].name for number in call.sources]
        told = {"value": call.value, "shape": call.shape, "from": ", ".join(names)}
        events.append(_event(call.kernel, "kernel", _RUN, now, call.measured_us, told))
        now += call.measured_us
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _name(process: int, what: str, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": 1, "args": {"name": name}}


def _event(
    name: str, kind: str, process: int, start: float, duration: float, told: dict[str, Any]
) -> dict[str, Any]:
    return {
        "name": name, "cat": kind, "ph": "X", "pid": process, "tid": 1,
        "ts": round(start, 3), "dur": round(duration, 3), "args": told,
    }  # fmt: skip
