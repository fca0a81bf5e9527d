"""Processes that compile: the same objects for any number of them, also when they die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.backend.llvm.test_split import TWO, kernel, module, run
from tvm.backend.llvm import jit, split, workers
from tvm.error import InternalError

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(split, "SMALLEST", 0)
    monkeypatch.setattr(workers, "_MIN_TEXT", 0)
    monkeypatch.setenv("TVM_CACHE", "0")
    yield
    for worker in list(workers._begun):
        worker.end()
    workers._idle.clear()


MANY = module(
    *(kernel(f"k{n}", n, f"@__tvm_parallel_lambda.{n}") for n in range(1, 9)),
    calls=[f"k{n}" for n in range(1, 9)],
)


def test_the_number_of_processes_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for count in ("0", "1", "2"):
        monkeypatch.setenv("TVM_COMPILE_WORKERS", count)
        found.append(workers.emit_objects(MANY, jit.host_machine()))
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 9
    assert len(workers._begun) == 2
    assert run(MANY, 0) == 36


def test_a_process_that_died_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_COMPILE_WORKERS", "1")
    wanted = workers.emit_objects(MANY, jit.host_machine())
    (worker,) = workers._begun
    assert worker._process is not None
    worker._process.kill()
    worker._process.wait()
    assert workers.emit_objects(MANY, jit.host_machine()) == wanted


def test_one_that_dies_at_work_leaves_it_to_us(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_COMPILE_WORKERS", "1")
    monkeypatch.setattr(workers._Worker, "compile", lambda self, *_: self.end())
    workers.begin()
    assert workers._begun[0].is_ready()
    assert len(workers.emit_objects(MANY, jit.host_machine())) == 9


def test_a_fault_is_told_as_in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = MANY.replace("add i32 %x, 5", "add i64 %x, 5")
    for count in ("0", "1"):
        monkeypatch.setenv("TVM_COMPILE_WORKERS", count)
        with pytest.raises(InternalError, match="defined with type 'i32'"):
            workers.emit_objects(wrong, jit.host_machine())


def test_little_work_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_COMPILE_WORKERS", "1")
    monkeypatch.setattr(workers, "_MIN_TEXT", 10_000_000)
    assert len(workers.emit_objects(TWO, jit.host_machine())) == 3
    assert not workers._begun


def test_what_is_in_the_cache_is_not_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("TVM_CACHE", "1")
    monkeypatch.setenv("TVM_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TVM_COMPILE_WORKERS", "0")
    compiled: list[str] = []
    fresh = jit.emit_fresh
    monkeypatch.setattr(jit, "emit_fresh", lambda *a: compiled.append(a[0]) or fresh(*a))
    workers.emit_objects(MANY, jit.host_machine())
    assert len(compiled) == 9
    workers.emit_objects(MANY.replace("add i32 %x, 5", "add i32 %x, 55"), jit.host_machine())
    assert len(compiled) == 11  # the kernel, and what calls it


def endless(name: str, steps: int = 6000) -> str:
    """A function that takes LLVM many seconds, or with more steps many minutes."""
    lines = [
        f"  %q{i} = getelementptr i32, ptr %p, i32 %v{i}\n  %l{i} = load i32, ptr %q{i}\n"
        f"  store i32 %v{i}, ptr %q{i}\n  %v{i + 1} = add i32 %l{i}, {i}\n"
        for i in range(steps)
    ]
    return (
        f"\ndefine internal i32 @{name}(i32 %x) #0 {{\n  %p = alloca [64 x i32], align 4\n"
        f"  %v0 = add i32 %x, 1\n{''.join(lines)}  ret i32 %v{steps}\n}}\n"
    )


class Heard(Exception):
    """What the handler of a signal raises."""


def test_nobody_waits_after_ctrl_c(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Processes at work are killed, no file stays, and the next compilation has new ones."""
    monkeypatch.setenv("TVM_COMPILE_WORKERS", "1")
    monkeypatch.setenv("TVM_CACHE", "1")
    monkeypatch.setenv("TVM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(jit, "LARGE_TEXT", 0)
    workers.begin()
    (worker,) = workers._begun
    assert worker.is_ready()
    process = worker._process
    assert process is not None
    at_work = threading.Event()
    compile_ = workers._Worker.compile

    def begun(self: workers._Worker, text: str, machine: jit.Machine) -> bytes | None:
        at_work.set()
        return compile_(self, text, machine)

    monkeypatch.setattr(workers._Worker, "compile", begun)

    def handler(number: int, frame: object) -> None:
        raise Heard

    def send() -> None:
        at_work.wait()
        os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handler)
    sender = threading.Thread(target=send)
    sender.start()
    try:
        with pytest.raises(Heard):
            workers.emit_objects(
                module(endless("f"), endless("g"), calls=["f", "g"]), jit.host_machine()
            )
    finally:
        sender.join()
        signal.signal(signal.SIGUSR1, before)
    assert process.wait(60) == -signal.SIGKILL
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    monkeypatch.undo()
    monkeypatch.setattr(split, "SMALLEST", 0)
    monkeypatch.setenv("TVM_CACHE", "0")
    monkeypatch.setenv("TVM_COMPILE_WORKERS", "1")
    monkeypatch.setattr(workers, "_MIN_TEXT", 0)
    assert len(workers.emit_objects(MANY, jit.host_machine())) == 9
    assert workers._begun != [worker]


def test_they_leave_ctrl_c_to_the_one_who_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal sends the signal to all processes of a command."""
    monkeypatch.setenv("TVM_COMPILE_WORKERS", "1")
    workers.begin()
    (worker,) = workers._begun
    assert worker.is_ready()
    assert worker._process is not None
    worker._process.send_signal(signal.SIGINT)
    assert worker.compile("define i32 @f() {\n  ret i32 42\n}\n", jit.host_machine())
    assert worker.is_alive()


KILLED = """
import os, signal
from tests.backend.llvm.test_workers import endless
from tvm.backend.llvm import jit, workers
os.environ["TVM_COMPILE_WORKERS"] = "1"
workers.begin()
(worker,) = workers._begun
assert worker.is_ready()

def die(self):
    print(self._process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

workers._Worker._answer = die
worker.compile(endless("f", 40_000).replace("internal ", ""), jit.host_machine())
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
