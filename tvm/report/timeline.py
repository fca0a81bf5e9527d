"""One run of `main` over time: the calls of kernels, and what each thread did of them.

    thread 0   [ matmul                ][ relu ][ softmax  ]
               [ task 0              ]  [ 0  ]  [ 0      ]
    thread 1     [ task 1            ]  [ 1 ]   [ 1     ]
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, Final

from tvm.runtime.vm import Lap

from . import words as w
from .tasks import Task, TaskWatch

_RUNS: Final = 3


def timeline_of(vm: Any, inputs: Sequence[Any], rows: Sequence[int | None]) -> list[w.Lap]:
    """The shortest of a few runs; `rows[i]` is the number in the report of the machine's call i."""
    runs = [_run(vm, inputs) for _ in range(_RUNS)]
    laps, tasks = min(runs, key=lambda run: run[0][-1].end_ns - run[0][0].start_ns if run[0] else 0)
    return _told(laps, tasks, rows)


def _run(vm: Any, inputs: Sequence[Any]) -> tuple[list[Lap], list[Task]]:
    if vm.devices[0].type != "cpu":
        return vm.laps("main", *inputs), []
    watch = TaskWatch()
    return vm.laps("main", *inputs, around=watch), watch.tasks()


def _told(laps: list[Lap], tasks: list[Task], rows: Sequence[int | None]) -> list[w.Lap]:
    """Calls and tasks as the report has them; a task belongs to the call in whose time it began."""
    if not laps:
        return []
    zero = laps[0].start_ns
    starts = [lap.start_ns for lap in laps]
    found: list[w.Lap] = []

    def add(lap: Lap, thread: int, start: int, end: int, task: int) -> None:
        number = rows[lap.number] if lap.number < len(rows) else None
        if number is not None:
            found.append(w.Lap(number, thread, (start - zero) / 1e3, (end - start) / 1e3, task))

    for lap in laps:
        add(lap, 0, lap.start_ns, lap.end_ns, -1)
    for task in tasks:
        at = bisect_right(starts, task.start_ns) - 1
        if at >= 0 and task.start_ns < laps[at].end_ns:
            add(laps[at], task.thread, task.start_ns, task.end_ns, task.number)
    return found
