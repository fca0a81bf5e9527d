"""Processes that compile: the same objects for any number of them, also when they die."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.backend.llvm.test_split import TWO, kernel, module, run
from tvm.backend.llvm import jit, split, worker, workers
from tvm.error import InternalError

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(split, "SMALLEST", 0)
    monkeypatch.setattr(workers, "_MIN_TEXT", 0)
    monkeypatch.setenv("TVM_CACHE", "0")
    yield
    for each in list(worker._begun):
        each.end()
    worker._idle.clear()


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
    assert len(worker._begun) == 2
    assert run(MANY, 0) == 36


def test_a_process_that_died_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_COMPILE_WORKERS", "1")
    wanted = workers.emit_objects(MANY, jit.host_machine())
    (other,) = worker._begun
    assert other._process is not None
    other._process.kill()
    other._process.wait()
    assert workers.emit_objects(MANY, jit.host_machine()) == wanted


def test_one_that_dies_at_work_leaves_it_to_us(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_COMPILE_WORKERS", "1")
    monkeypatch.setattr(worker.Worker, "compile", lambda self, *_: self.end())
    workers.begin()
    assert worker._begun[0].is_ready()
    assert len(workers.emit_objects(MANY, jit.host_machine())) == 9


class Refusing:
    """A process that is there and cannot do some pieces."""

    def is_ready(self) -> bool:
        return True

    def is_alive(self) -> bool:
        return False  # nobody keeps it


@pytest.mark.parametrize(
    ("refused", "done", "left"),
    [({0}, {1, 2, 3, 4, 5}, []), ({1, 2, 4}, {0, 3, 5}, []), ({1, 2, 3, 4}, {0}, [4, 5])],
)
def test_one_that_refuses_pieces_gets_others(
    refused: set[int], done: set[int], left: list[int]
) -> None:
    def there(helper: worker.Worker, number: int) -> bytes | None:
        return None if number in refused else b"done"

    work = workers._Work(deque(range(6)), there)
    work.share(Refusing())  # type: ignore[arg-type]
    assert set(work.found) == done
    assert list(work.waiting) == left


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
    assert not worker._begun


def test_what_is_in_the_cache_is_not_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("TVM_CACHE", "1")
    monkeypatch.setenv("TVM_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TVM_COMPILE_WORKERS", "0")
    compiled: list[str] = []
    fresh = jit.emit_fresh

    def emit(text: str, machine: jit.Machine) -> bytes:
        compiled.append(text)
        return fresh(text, machine)

    monkeypatch.setattr(jit, "emit_fresh", emit)
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
    (other,) = worker._begun
    assert other.is_ready()
    process = other._process
    assert process is not None
    at_work = threading.Event()
    compile_ = worker.Worker.compile

    def begun(self: worker.Worker, text: str, machine: jit.Machine) -> bytes | None:
        at_work.set()
        return compile_(self, text, machine)

    monkeypatch.setattr(worker.Worker, "compile", begun)

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
    assert worker._begun != [other]
