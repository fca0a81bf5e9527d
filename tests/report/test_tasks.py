"""Tasks of parallel loops: each is told once, with its thread and its time."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

import tvm
from tvm.report.tasks import TaskWatch
from tvm.runtime.threads import config_threads
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


@T.prim_func
def twice(x: T.Buffer((1000,), "float32"), y: T.Buffer((1000,), "float32")) -> None:
    for i in T.parallel(1000):
        with T.block("y"):
            v = T.axis.spatial(1000, i)
            y[v] = x[v] * T.float32(2)


@pytest.fixture
def two_threads() -> Iterator[None]:
    config_threads(2)
    yield
    config_threads(0)


def _program() -> tuple[object, ...]:
    made = tvm.compile(tvm.IRModule({"twice": twice}), "llvm")["twice"]
    x, y = (tvm.runtime.tensor(np.ones(1000, np.float32)) for _ in range(2))
    return made, x, y


@pytest.mark.usefixtures("two_threads")
def test_every_task_is_told_with_its_time() -> None:
    run, x, y = _program()
    run(x, y)
    with TaskWatch() as watch:
        run(x, y)
        run(x, y)
    tasks = watch.tasks()
    assert sorted(task.number for task in tasks) == [0, 0, 1, 1]
    assert {task.thread for task in tasks if task.number == 0} == {0}, "the caller takes the first"
    assert {task.thread for task in tasks} <= {0, 1}
    assert all(task.start_ns <= task.end_ns for task in tasks)
    assert [task.start_ns for task in tasks] == sorted(task.start_ns for task in tasks)
    assert (y.numpy() == 2).all()


@pytest.mark.usefixtures("two_threads")
def test_nothing_is_watched_afterwards() -> None:
    run, x, y = _program()
    with TaskWatch() as watch:
        pass
    run(x, y)
    assert watch.tasks() == []


@pytest.mark.usefixtures("two_threads")
def test_what_there_is_no_room_for_is_counted() -> None:
    run, x, y = _program()
    with TaskWatch(room=3) as watch:
        for _ in range(4):
            run(x, y)
    assert (len(watch.tasks()), watch.lost) == (3, 5)


@pytest.mark.usefixtures("two_threads")
def test_launches_of_other_threads_have_rows_of_their_own() -> None:
    run, x, y = _program()
    with TaskWatch() as watch:
        other = threading.Thread(target=run, args=(x, y))
        other.start()
        other.join()
    assert 0 not in {task.thread for task in watch.tasks()}
