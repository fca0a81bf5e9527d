"""One run over time: tasks belong to the call in whose time they began."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import tvm
from tvm.report import timeline
from tvm.report.tasks import Task
from tvm.report.timeline import timeline_of
from tvm.report.words import Lap
from tvm.runtime import vm

pytestmark = pytest.mark.pure


class _Machine:
    """Runs in so many nanoseconds for each of three calls, each time longer."""

    devices = (tvm.cpu(),)

    def __init__(self) -> None:
        self.runs = 0

    def laps(self, name: str, *args: object, around: object = None) -> list[vm.Lap]:
        self.runs += 1
        ends = [1000 * (2 + self.runs) * i for i in range(4)]
        names = ("a", "copy", "b")
        return [vm.Lap(n, i, ends[i], ends[i + 1]) for i, n in enumerate(names)]


class _Watch:
    def tasks(self) -> list[Task]:
        return [Task(0, 0, 100, 2900), Task(1, 1, 200, 3100), Task(1, 0, 6000, 6500),
                Task(2, 0, 50_000, 60_000)]  # fmt: skip


def test_the_shortest_run_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "TaskWatch", _Watch)
    machine: Any = _Machine()
    assert timeline_of(machine, [], [0, None, 1]) == [
        Lap(0, 0, 0.0, 3.0), Lap(1, 0, 6.0, 3.0), Lap(0, 0, 0.1, 2.8, 0), Lap(0, 1, 0.2, 2.9, 1),
        Lap(1, 1, 6.0, 0.5, 0),
    ]  # fmt: skip


def test_devices_have_calls_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "TaskWatch", None)
    machine: Any = _Machine()
    machine.devices = (SimpleNamespace(type="cuda"),)
    assert [lap.task for lap in timeline_of(machine, [], [0, None, 1])] == [-1, -1]


def test_a_run_without_calls_has_none() -> None:
    machine: Any = SimpleNamespace(devices=(tvm.cpu(),), laps=lambda *args, around: [])
    assert timeline_of(machine, [], []) == []
