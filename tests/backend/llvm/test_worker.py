"""A process that compiles: it is used again, replaced when it died, and ends with its owner."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.backend.llvm.test_jit import VNNI
from tvm.backend.llvm import jit, worker
from tvm.error import TVMError

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _none_begun() -> Iterator[None]:
    yield
    for each in list(worker._begun):
        each.end()
    worker._idle.clear()



def test_processes_that_may_die_are_used_again() -> None:
    """One that died is replaced, and the refusal says why."""
    new = jit.Machine("x86_64-linux-gnu", "sapphirerapids", "")
    first = jit.emit_object(VNNI, new, keep=False)
    (process,) = worker._begun
    assert jit.emit_object(VNNI, new, keep=False) == first
    assert worker._begun == [process]
    with pytest.raises(TVMError, match=r"compile llvm\.x86\.avx512\.vpdpbusd\.512\n  found:"):
        jit.emit_object(VNNI, jit.Machine("x86_64-linux-gnu", "core2", ""), keep=False)
    assert not process.is_alive()
    assert jit.emit_object(VNNI, new, keep=False) == first


def test_text_that_llvm_refuses_ends_nothing() -> None:
    assert worker.emit_apart("nonsense", jit.host_machine()) is None
    (process,) = worker._begun
    assert worker.emit_apart("define void @f() {\n  ret void\n}\n", jit.host_machine())
    assert worker._begun == [process]


def test_they_leave_ctrl_c_to_the_one_who_asked() -> None:
    """A terminal sends the signal to all processes of a command."""
    worker.begin(1)
    (other,) = worker._begun
    assert other.is_ready()
    assert other._process is not None
    other._process.send_signal(signal.SIGINT)
    assert other.compile("define i32 @f() {\n  ret i32 42\n}\n", jit.host_machine())
    assert other.is_alive()


KILLED = """
import os, signal
from tests.backend.llvm.test_workers import endless
from tvm.backend.llvm import jit, worker
worker.begin(1)
(other,) = worker._begun
assert other.is_ready()

def die(self):
    print(self._process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

worker.Worker._answer = die
other.compile(endless("f", 40_000).replace("internal ", ""), jit.host_machine())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_they_end_at_work_when_the_one_who_asked_is_killed() -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, check=False)
    assert done.returncode == -signal.SIGKILL
    for _ in range(600):
        if not is_running(int(done.stdout)):
            return
        time.sleep(0.1)
    pytest.fail("it goes on")


def is_running(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes() != b""
    except OSError:
        return False
