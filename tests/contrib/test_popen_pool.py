"""Worker processes: results, errors, time limits, deaths, recycling, pools."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tvm
from tvm.contrib.popen_pool import (
    PopenPoolExecutor,
    PopenWorker,
    StatusKind,
    kill_child_processes,
)
from tvm.testing import identity_after, terminate_self

pytestmark = pytest.mark.cpu
STATE: list[int] = []


def remember(*numbers: int) -> None:
    STATE.extend(numbers)


def recall() -> list[int]:
    return STATE


def fail() -> None:
    raise KeyError("lost")


def test_results_errors_time_limits_and_deaths() -> None:
    worker = PopenWorker()
    with pytest.raises(RuntimeError, match="nothing was sent"):
        worker.recv()
    worker.send(identity_after, [1, 6000], timeout=0.05)
    with pytest.raises(TimeoutError):
        worker.recv()
    assert not worker.is_alive()
    worker.send(terminate_self)
    with pytest.raises(ChildProcessError):
        worker.recv()
    worker.send(fail)
    with pytest.raises(KeyError, match="lost"):
        worker.recv()
    worker.send(identity_after, [2], {"sleep": 0}, timeout=100)
    assert worker.recv() == 2
    worker.kill()


def test_a_worker_outlives_its_tasks_up_to_a_limit() -> None:
    for uses, distinct in ((None, 1), (2, 2)):
        worker, pids = PopenWorker(maximum_uses=uses), set()
        for _ in range(4):
            worker.send(os.getpid)
            pids.add(worker.recv())
        assert len(pids) == distinct
        assert os.getpid() not in pids
        worker.join(600)
        assert not worker.is_alive()


def test_the_initializer_runs_first() -> None:
    worker = PopenWorker(remember, [1, 2, 3])
    worker.send(recall)
    assert worker.recv() == [1, 2, 3]
    assert STATE == []
    with pytest.raises(TypeError, match="legal: a function"):
        PopenWorker("remember")


def test_output_goes_where_it_is_told(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as out:
        worker = PopenWorker(stdout=out)
        worker.send(lambda: print("said", flush=True))
        worker.recv()
        worker.kill()
    assert (tmp_path / "out").read_text() == "said\n"


def test_a_pool_runs_what_it_is_given() -> None:
    with PopenPoolExecutor(max_workers=2, timeout=600) as pool:
        late = PopenPoolExecutor(max_workers=1, timeout=0.05)
        slow = late.submit(identity_after, 1, 6000)
        dead = pool.submit(terminate_self)
        good = pool.submit(identity_after, 3, 0)
        text = pool.submit(tvm.runtime.String, "xyz")
        with pytest.raises(TimeoutError):
            slow.result()
        with pytest.raises(ChildProcessError):
            dead.result()
        assert good.result() == 3
        assert text.result() == "xyz"
        results = list(pool.map_with_error_catching(lambda x: 6 // x, [1, 0, 3]))
        late.shutdown()
    assert [r.status for r in results] == [
        StatusKind.COMPLETE, StatusKind.EXCEPTION, StatusKind.COMPLETE,
    ]  # fmt: skip
    assert (results[0].value, results[2].value) == (6, 2)
    assert isinstance(results[1].value, ZeroDivisionError)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="finds children as Linux tells them")
def test_children_of_children_end_too() -> None:
    inner = "import time; time.sleep(6000)"
    text = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    parent = subprocess.Popen([sys.executable, "-c", text])
    end = time.monotonic() + 600
    while not (children := Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text()):
        assert time.monotonic() < end
    kill_child_processes(parent.pid)
    parent.wait(600)
    assert not os.path.exists(f"/proc/{children.split()[0]}")


class _SlowToArrive:
    def __setstate__(self, state: object) -> None:
        time.sleep(2.5)

    def __getstate__(self) -> object:
        return 1


def test_limits_on_time_count_from_when_the_function_begins() -> None:
    worker = PopenWorker()
    worker.send(lambda value: 5, [_SlowToArrive()], timeout=2)
    assert worker.recv() == 5
    worker.send(time.sleep, [600], timeout=0.01)
    time.sleep(0.1)
    with pytest.raises(TimeoutError):
        worker.recv()
