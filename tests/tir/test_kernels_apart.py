"""Kernels made by several processes: the same code for any number, also when these refuse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import tvm
from tests.backend.llvm.test_kept_kernels import TARGET, built, program, run
from tvm.backend.llvm import worker
from tvm.error import TVMError
from tvm.ir import IRModule
from tvm.ir.transform import PassContext
from tvm.script import ir as I
from tvm.script import tir as T
from tvm.support import dtype
from tvm.target import Target
from tvm.tir import kernels_apart

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _all_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(kernels_apart, "_WORTH_SENDING", 0)
    monkeypatch.setattr(dtype, "_custom_codes", {})  # types that other tests have registered
    monkeypatch.setenv("TVM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TVM_COMPILE_WORKERS", "1")
    yield
    for each in list(worker._begun):
        each.end()
    worker._idle.clear()


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, bytes | None]]:
    """What the processes were asked to make, and what they answered."""
    found: list[tuple[object, bytes | None]] = []
    ask = worker.Worker.ask

    def note(
        self: worker.Worker, module: str, fields: Sequence[object], content: bytes
    ) -> bytes | None:
        answer = ask(self, module, fields, content)
        if module == kernels_apart.__name__:
            found.append((fields[0], answer))
        return answer

    monkeypatch.setattr(worker.Worker, "ask", note)
    return found


def fresh(monkeypatch: pytest.MonkeyPatch, path: Path, count: str, mod: IRModule) -> str:
    """The text of a module made with an empty cache, and so many processes that have loaded."""
    monkeypatch.setenv("TVM_CACHE_DIR", str(path))
    monkeypatch.setenv("TVM_COMPILE_WORKERS", count)
    worker.begin(int(count))
    assert all(each.is_ready() for each in worker._begun)
    return built(mod).inspect_source()


def test_the_number_of_processes_does_not_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answers: list[tuple[object, bytes | None]]
) -> None:
    texts = [fresh(monkeypatch, tmp_path / count, count, program()) for count in ("0", "1", "2")]
    assert texts[0] == texts[1] == texts[2]
    assert answers
    assert all(answer for _, answer in answers)
    assert run(built(program())).tolist() == [2.0 * i for i in range(15)] + [126.0]


def test_the_context_goes_along(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answers: list[tuple[object, bytes | None]]
) -> None:
    with PassContext(opt_level=3, config={"tir.disable_vectorize": True}):
        plain = fresh(monkeypatch, tmp_path / "0", "0", program())
        assert fresh(monkeypatch, tmp_path / "1", "1", program()) == plain
    assert answers
    assert all(answer for _, answer in answers)


def test_what_processes_made_is_kept(
    monkeypatch: pytest.MonkeyPatch, answers: list[tuple[object, bytes | None]]
) -> None:
    worker.begin(1)
    assert worker._begun[0].is_ready()
    first = built(program()).inspect_source()
    asked = len(answers)
    assert asked
    assert built(program()).inspect_source() == first
    assert len(answers) == asked


def test_a_process_with_another_setting_makes_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answers: list[tuple[object, bytes | None]]
) -> None:
    """One that began before the environment changed."""
    worker.begin(1)
    assert worker._begun[0].is_ready()
    monkeypatch.setenv("TVM_DEBUG_MEMORY", "1")
    guarded = fresh(monkeypatch, tmp_path / "1", "1", program())
    assert answers
    assert not any(answer for _, answer in answers)
    assert worker._begun[0].is_alive()
    assert fresh(monkeypatch, tmp_path / "0", "0", program()) == guarded


def test_a_process_that_dies_leaves_its_kernel_to_us(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plain = fresh(monkeypatch, tmp_path / "0", "0", program())
    monkeypatch.setattr(worker.Worker, "ask", lambda self, *_: self.end())
    assert fresh(monkeypatch, tmp_path / "1", "1", program()) == plain


def test_a_fault_of_a_kernel_is_told_here(monkeypatch: pytest.MonkeyPatch) -> None:
    @I.ir_module
    class Mod:
        @T.prim_func(private=True)
        def wrong(A: T.Buffer((64,), "float32")):
            for i in T.serial(64):
                A[i] = T.call_intrin("float32", "tir.tvm_warp_shuffle", 0, A[i], 0, 32, 32)

        @T.prim_func(private=True)
        def right(A: T.Buffer((64,), "float32")):
            for i in T.serial(64):
                A[i] = A[i] + T.float32(1)

        @T.prim_func
        def main(A: T.Buffer((64,), "float32")):
            T.func_attr({"global_symbol": "main"})
            Mod.wrong(A.data)
            Mod.right(A.data)

    said = []
    for count in ("0", "1"):
        monkeypatch.setenv("TVM_COMPILE_WORKERS", count)
        with pytest.raises(TVMError, match="tvm_warp_shuffle") as caught:
            built(Mod)
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_little_work_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels_apart, "_WORTH_SENDING", 1000)
    assert run(tvm.tir.build(program(), Target(TARGET)))[1] == 2.0
    assert not worker._begun


def test_types_of_users_stay_here(
    monkeypatch: pytest.MonkeyPatch, answers: list[tuple[object, bytes | None]]
) -> None:
    """Other processes know nothing of them."""
    monkeypatch.setattr(dtype, "_custom_codes", {"mine": 200})
    assert run(built(program()))[1] == 2.0
    assert not answers
