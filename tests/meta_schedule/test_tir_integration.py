"""From a TIR module to records and back to a schedule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tests.meta_schedule.patient import patient
from tests.meta_schedule.programs import Add, Matmul
from tests.meta_schedule.schedules import LLVM, sampled_matmul
from tvm.ir.module import IRModule
from tvm.meta_schedule import tune_tir
from tvm.meta_schedule.database import MemoryDatabase
from tvm.meta_schedule.testing.dummy_object import DummyBuilder, DummyRunner
from tvm.meta_schedule.tir_integration import compile_tir
from tvm.runtime import empty, tensor

pytestmark = pytest.mark.cpu
TARGET = "llvm --num-cores=2"
QUICK: dict[str, Any] = {
    "builder": DummyBuilder(), "runner": DummyRunner(), "database": "memory",
    "cost_model": "random", "strategy": "replay-trace", "num_trials_per_iter": 4,
}  # fmt: skip


@pytest.mark.slow
def test_tuned_and_run(tmp_path: Path) -> None:
    database = tune_tir(
        Matmul, TARGET, str(tmp_path), max_trials_global=3, num_trials_per_iter=3, seed=1,
        cost_model="random", **patient(),
    )  # fmt: skip
    assert [r.is_valid() for r in database.get_all_tuning_records()] == [True] * 3
    sch = compile_tir(database, Matmul, TARGET)
    a, b = np.random.default_rng(0).random((2, 64, 64), "float32")
    out = empty((64, 64), "float32")
    tvm.tir.build(sch.mod, TARGET)["main"](tensor(a), tensor(b), out)
    np.testing.assert_allclose(out.numpy(), a @ b, rtol=1e-4)


@pytest.mark.parametrize("attrs", [{}, {"tir.noalias": tvm.tir.const(True, "bool")}])
def test_found_again_whatever_its_attributes(attrs: dict[str, Any], tmp_path: Path) -> None:
    func = Matmul["main"].without_attr("tir.noalias").with_attr(attrs)
    for given in (func, IRModule({"main": func})):
        database = tune_tir(given, TARGET, str(tmp_path), 4, **QUICK)
        assert compile_tir(database, given, TARGET) is not None


def both() -> IRModule:
    return IRModule({
        "matmul": Matmul["main"].with_attr("global_symbol", "matmul"),
        "add": Add["main"].with_attr("global_symbol", "add"),
    })  # fmt: skip


def test_each_function_is_a_task(tmp_path: Path) -> None:
    database = tune_tir(both(), TARGET, str(tmp_path), 16, max_trials_per_task=8, **QUICK)
    assert len(database.workloads) == 2
    assert len(database) == 16
    logs = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert [name.rpartition("_")[2] for name in logs] == [
        "add.log", "matmul.log", "scheduler.log"] or len(logs) == 3  # fmt: skip


def test_own_space_of_a_function(tmp_path: Path) -> None:
    database = tune_tir(
        both(), TARGET, str(tmp_path), 8, max_trials_per_task=4,
        special_space={"matmul": sampled_matmul}, **QUICK,
    )  # fmt: skip
    traces = [str(r.trace) for r in database.get_all_tuning_records()]
    assert sum("max_innermost_factor=8" in text for text in traces) == 4
    with pytest.raises(ValueError, match=r"no function named conv\n  legal: "):
        tune_tir(both(), TARGET, str(tmp_path), 8, special_space={"conv": "union"}, **QUICK)


def test_same_seed_same_search(tmp_path: Path) -> None:
    first, second, other = (
        [str(r.trace) for r in tune_tir(Matmul["main"], TARGET, str(tmp_path), 4, seed=seed,
                                        **QUICK).get_all_tuning_records()]
        for seed in (3, 3, 4)
    )  # fmt: skip
    assert first == second != other


def test_nothing_known_and_nothing_to_do(tmp_path: Path) -> None:
    assert compile_tir(MemoryDatabase(), Matmul, LLVM) is None
    with pytest.raises(ValueError, match=r"found: a module without a PrimFunc"):
        tune_tir(IRModule({}), TARGET, str(tmp_path), 1)
