from __future__ import annotations

import json

import pytest

from tvm.report import Report, trace_events
from tvm.report.words import Call, Lap, PassRun, Source

pytestmark = pytest.mark.pure


def test_passes_nest_and_calls_follow_each_other() -> None:
    report = Report(
        "net", "llvm", {},
        sources=[Source("conv", "nn.conv2d", "lv", "", "", [], [0])],
        calls=[Call("conv2d", "lv", "", [0], [], 5.0), Call("relu", "lv1", "", [], [0], 2.0)],
        passes=[
            PassRun("all", 0, 0.0, 10.0, 1, 1, []), PassRun("Fuse", 1, 1.0, 3.0, 1, 2, ["main"])
        ],
    )  # fmt: skip
    made = json.loads(json.dumps(trace_events(report)))
    timed = [e for e in made["traceEvents"] if e["ph"] == "X"]
    assert [(e["name"], e["pid"], e["ts"], e["dur"]) for e in timed] == [
        ("all", 1, 0.0, 10.0), ("Fuse", 1, 1.0, 3.0), ("conv2d", 2, 0.0, 5.0),
        ("relu", 2, 5.0, 2.0),
    ]  # fmt: skip
    assert timed[2]["args"]["from"] == "conv"


def test_what_was_not_measured_is_left_out() -> None:
    report = Report("net", "llvm", {}, calls=[Call("conv2d", "lv", "", [], [])])
    assert all(e["ph"] == "M" for e in trace_events(report)["traceEvents"])


def test_threads_have_rows_of_their_own() -> None:
    laps = [Lap(0, 0, 0.0, 9.0), Lap(0, 0, 1.0, 7.0, 0), Lap(0, 2, 1.5, 7.0, 1)]
    report = Report("net", "llvm", {}, calls=[Call("conv2d", "lv", "", [], [])], timeline=laps)
    events = [e for e in trace_events(report)["traceEvents"] if e["pid"] == 2]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert names == {1: "main", 3: "worker 2"}
    timed = [(e["cat"], e["tid"], e["ts"], e["dur"]) for e in events if e["ph"] == "X"]
    assert timed == [("kernel", 1, 0.0, 9.0), ("task", 1, 1.0, 7.0), ("task", 3, 1.5, 7.0)]
    assert [e["args"].get("task") for e in events if e["ph"] == "X"] == [None, 0, 1]
