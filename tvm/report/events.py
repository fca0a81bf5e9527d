"""A report as trace events, which Perfetto and chrome://tracing open.

    {"traceEvents": [{"name": "FuseOps", "ph": "X", "ts": 12.0, "dur": 64.7, "pid": 1, ...}, ...]}

Process 1 is the compilation: passes within passes. Process 2 is one run of `main`, a row a thread:
the calls of kernels on the first, and on each the tasks that it ran of them. Where no run was
watched the calls stand in order, each as long as the least of its measurements; without any it is
empty.
The format is that of Google's "Trace Event Format".
"""

from __future__ import annotations

from typing import Any, Final

from .words import Lap, Report

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
    for thread in sorted({lap.thread for lap in report.timeline} - {0}):
        events.append(_name(_RUN, "thread_name", f"worker {thread}", thread + 1))
    for lap in report.timeline or _in_order(report):
        call = report.calls[lap.call]
        names = [report.sources[number].name for number in call.sources]
        told = {"value": call.value, "shape": call.shape, "from": ", ".join(names)}
        kind = "kernel"
        if lap.task >= 0:
            told, kind = {"task": lap.task}, "task"
        events.append(
            _event(call.kernel, kind, _RUN, lap.start_us, lap.duration_us, told, lap.thread + 1)
        )
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _in_order(report: Report) -> list[Lap]:
    """The calls one behind the other."""
    found: list[Lap] = []
    now = 0.0
    for number, call in enumerate(report.calls):
        if call.measured_us is not None:
            found.append(Lap(number, 0, now, call.measured_us))
            now += call.measured_us
    return found


def _name(process: int, what: str, name: str, thread: int = 1) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}


def _event(
    name: str, kind: str, process: int, start: float, duration: float, told: dict[str, Any],
    thread: int = 1,
) -> dict[str, Any]:  # fmt: skip
    return {
        "name": name, "cat": kind, "ph": "X", "pid": process, "tid": thread,
        "ts": round(start, 3), "dur": round(duration, 3), "args": told,
    }  # fmt: skip
