"""Processes that compile: the same objects for any number of them, also when they die."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.backend.llvm.test_split import TWO, kernel, module, run
from tvm.backend.llvm import jit, split, workers
from tvm.error import InternalError

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(split, "SMALLEST", 0)
    monkeypatch.setattr(workers, "_ENOUGH", 0)
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
    monkeypatch.setattr(workers, "_ENOUGH", 10_000_000)
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
