"""Schedules in the compile cache."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import tvm
from tvm import dlight, tir
from tvm.backend.llvm import worker
from tvm.dlight.base import transform
from tvm.ir import IRModule
from tvm.relax.backend import kept_schedules
from tvm.relax.backend.kept_schedules import ApplyKeptSchedule
from tvm.script import tir as T
from tvm.support import dtype
from tvm.target import Target

pytestmark = pytest.mark.cpu


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TVM_CACHE_DIR", str(tmp_path / "cache"))


def doubled(name: str = "A") -> IRModule:
    a = tvm.te.placeholder((256,), "float32", name)
    b = tvm.te.compute((256,), lambda i: a[i] * 2.0, "b")
    return IRModule({"double": tvm.te.create_prim_func([a, b])})


def applied(mod: IRModule, name: str = "cpu") -> tir.PrimFunc:
    with Target("llvm -mcpu=haswell"):
        return ApplyKeptSchedule(name, *dlight.cpu.default_rules())(mod)["double"]


def test_a_hit_asks_no_rule_and_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    first = applied(doubled())
    monkeypatch.setattr(transform, "first_schedule", lambda *_: pytest.fail("a rule was asked"))
    again = applied(doubled())
    assert again.script() == first.script()
    tvm.ir.assert_structural_equal(again, first)
    assert again.attrs["tir.is_scheduled"]
    for changed in (lambda: applied(doubled("B")), lambda: applied(doubled(), "other")):
        with pytest.raises(pytest.fail.Exception, match="a rule was asked"):
            changed()


def test_functions_that_no_rule_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    mod = doubled()
    with Target("llvm"):
        assert ApplyKeptSchedule("none")(mod)["double"] is mod["double"]
        monkeypatch.setattr(transform, "first_schedule", lambda *_: pytest.fail("asked"))
        assert ApplyKeptSchedule("none")(mod)["double"] is mod["double"]


def test_without_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_CACHE", "0")
    first = applied(doubled())
    tvm.ir.assert_structural_equal(applied(doubled()), first)


def test_functions_with_constants_are_scheduled_each_time() -> None:
    @T.prim_func
    def double(A: T.Buffer((4,), "float32")):
        c = T.allocate_const([1.0, 2.0, 3.0, 4.0], "float32", [4])
        C = T.Buffer((4,), "float32", data=c)
        for i in range(4):
            with T.block("add"):
                v = T.axis.spatial(4, i)
                A[v] = A[v] + C[v]

    mod = IRModule({"double": double})
    tvm.ir.assert_structural_equal(applied(mod), applied(mod))


def _end_all() -> None:
    for each in list(worker._begun):
        each.end()
    worker._idle.clear()


@pytest.mark.slow
def test_several_processes_make_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Those that one has made, this one loads; what is unfit there is so here."""
    monkeypatch.setattr(kept_schedules, "_WORTH_SENDING", 2)
    monkeypatch.setattr(dtype, "_custom_codes", {})  # types that other tests have named
    answered = threading.Event()
    ask = worker.Worker.ask

    def note(
        self: worker.Worker, module: str, fields: Sequence[object], content: bytes
    ) -> bytes | None:
        answer = ask(self, module, fields, content)
        if answer is not None:
            answered.set()
        return answer

    schedule = kept_schedules.first_schedule

    def slowly(*args: Any) -> tir.PrimFunc | None:
        if worker._begun:  # the other process gets some too, however busy the machine is
            assert answered.wait(60)
        return schedule(*args)

    monkeypatch.setattr(worker.Worker, "ask", note)
    monkeypatch.setattr(kept_schedules, "first_schedule", slowly)
    mod = IRModule({f"f{n}": doubled(f"A{n}")["double"] for n in range(12)})
    mod["none"] = tir.PrimFunc([], tir.Evaluate(0))
    made = []
    _end_all()  # others have started some in another setting
    for count in ("0", "1"):
        monkeypatch.setenv("TVM_CACHE_DIR", str(tmp_path / count))
        monkeypatch.setenv("TVM_COMPILE_WORKERS", count)
        worker.begin(int(count), kept_schedules.__name__)
        assert all(each.is_ready() for each in worker._begun)
        with Target("llvm -mcpu=haswell -opt-level=1"):  # by itself, tests have another level
            made.append(ApplyKeptSchedule("cpu", *dlight.cpu.default_rules())(mod))
    _end_all()
    assert answered.is_set()
    assert made[0].script() == made[1].script()
    tvm.ir.assert_structural_equal(*made)
    assert made[1]["none"] is mod["none"]


def test_types_of_users_stay_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other processes know nothing of them."""
    monkeypatch.setattr(kept_schedules, "_WORTH_SENDING", 2)
    monkeypatch.setattr(dtype, "_custom_codes", {"mine": 200})
    monkeypatch.setenv("TVM_COMPILE_WORKERS", "1")
    monkeypatch.setattr(worker.Worker, "ask", lambda *_: pytest.fail("asked"))
    mod = IRModule({f"f{n}": doubled(f"A{n}")["double"] for n in range(3)})
    with Target("llvm -mcpu=haswell"):
        made = ApplyKeptSchedule("cpu", *dlight.cpu.default_rules())(mod)
    assert all(func.attrs["tir.is_scheduled"] for func in made.functions.values())
