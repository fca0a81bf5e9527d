"""From a model to tuned kernels and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tests.meta_schedule.patient import patient
from tvm import relax
from tvm.meta_schedule.database import MemoryDatabase
from tvm.meta_schedule.relax_integration import (
    compile_relax,
    extract_tasks,
    extracted_tasks_to_tune_contexts,
    tune_relax,
)
from tvm.meta_schedule.testing.dummy_object import DummyBuilder, DummyRunner
from tvm.runtime import tensor
from tvm.target import Target

pytestmark = pytest.mark.cpu
TARGET = Target("llvm --num-cores=2")
SHAPES = {"w1": (32, 64), "b1": (64,), "w2": (64, 16), "b2": (16,)}


def mlp(rows: int = 8) -> tvm.IRModule:
    """Two layers, as kernels."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((rows, 32), "float32"))
    params = [relax.Var(n, relax.TensorStructInfo(s, "float32")) for n, s in SHAPES.items()]
    w1, b1, w2, b2 = params
    with builder.function("main", [x, *params]):
        with builder.dataflow():
            hidden = builder.emit(relax.op.nn.relu(relax.op.add(relax.op.matmul(x, w1), b1)))
            out = builder.emit_output(relax.op.add(relax.op.matmul(hidden, w2), b2))
        builder.emit_func_output(out)
    return relax.get_pipeline("zero")(builder.get())


def values() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {name: rng.standard_normal(s).astype("float32") for name, s in SHAPES.items()}


def expected(x: Any) -> Any:
    w1, b1, w2, b2 = values().values()
    return np.maximum(x @ w1 + b1, 0) @ w2 + b2


@pytest.mark.slow
def test_tuned_model_computes_the_same(tmp_path: Path) -> None:
    mod, params = mlp(), {name: tensor(value) for name, value in values().items()}
    database = tune_relax(
        mod, params, TARGET, str(tmp_path), max_trials_global=4, num_trials_per_iter=2, seed=1,
        cost_model="random", **patient(),
    )  # fmt: skip
    assert [r.is_valid() for r in database.get_all_tuning_records()] == [True] * 4
    executable = compile_relax(database, mod, TARGET, params)
    x = np.random.default_rng(1).standard_normal((8, 32)).astype("float32")
    out = relax.VirtualMachine(executable, tvm.cpu())["main"](tensor(x)).numpy()
    np.testing.assert_allclose(out, expected(x), rtol=1e-4, atol=1e-4)


def test_tasks_of_a_model() -> None:
    tasks = extract_tasks(mlp(), TARGET)
    assert [(task.task_name, task.weight) for task in tasks] == [
        ("fused_matmul_add_relu", 1), ("fused_matmul1_add1", 1)]  # fmt: skip
    for task in tasks:
        assert task.target == TARGET
        assert [gvar.name_hint for gvar in task.mod.functions] == ["main"]
        assert task.dispatched == [task.mod]
    assert len(extract_tasks(mlp()["main"], "llvm")) == 0, "a graph without its kernels"


def twice() -> tvm.IRModule:
    """Two equal products, one of them with a relu, and a third of another size."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((16, 16), "float32"))
    w = relax.Var("w", relax.TensorStructInfo((16, 16), "float32"))
    y = relax.Var("y", relax.TensorStructInfo((16, 32), "float32"))
    with builder.function("main", [x, w, y]):
        with builder.dataflow():
            first = builder.emit(relax.op.nn.relu(relax.op.matmul(x, w)))
            second = builder.emit(relax.op.matmul(first, w))
            third = builder.emit(relax.op.matmul(second, w))
            out = builder.emit_output(relax.op.matmul(third, y))
        builder.emit_func_output(out)
    return relax.get_pipeline("zero")(builder.get())


@pytest.mark.parametrize(
    ("module_equality", "weights"),
    [
        ("structural", {"fused_matmul_relu": 1, "matmul": 2, "matmul1": 1}),
        ("ignore-tensor", {"fused_matmul_relu": 1, "matmul": 2, "matmul1": 1}),
        ("anchor-block", {"matmul": 3, "matmul1": 1}),
    ],
)
def test_equal_kernels_are_one_task(module_equality: str, weights: dict[str, int]) -> None:
    tasks = extract_tasks(twice(), TARGET, module_equality=module_equality)
    assert {task.task_name: task.weight for task in tasks} == weights


def test_contexts(tmp_path: Path) -> None:
    tasks = extract_tasks(mlp(), TARGET)
    contexts, weights = extracted_tasks_to_tune_contexts(tasks, str(tmp_path), seed=3)
    again, _ = extracted_tasks_to_tune_contexts(tasks, str(tmp_path), seed=3)
    assert [c.task_name for c in contexts] == [t.task_name for t in tasks]
    assert weights == [1.0, 1.0]
    assert [c.rand_state for c in contexts] == [c.rand_state for c in again]
    assert contexts[0].rand_state != contexts[1].rand_state


def test_some_kernels(tmp_path: Path) -> None:
    options = {"max_trials_global": 2, "database": "memory", "strategy": "replay-trace",
               "cost_model": "none", "builder": DummyBuilder(), "runner": DummyRunner()}
    database = tune_relax(mlp(), {}, TARGET, str(tmp_path), op_names=["relu"], **options)
    assert [len(database), len(database.workloads)] == [2, 1]
    with pytest.raises(ValueError, match=r"no tasks to tune"):
        tune_relax(mlp(), {}, TARGET, str(tmp_path), op_names=["conv"], **options)


def test_without_records_the_model_is_as_before() -> None:
    executable = compile_relax(MemoryDatabase(), mlp(), "llvm", None)
    x = np.random.default_rng(1).standard_normal((8, 32)).astype("float32")
    given = [tensor(v) for v in (x, *values().values())]
    out = relax.VirtualMachine(executable, tvm.cpu())["main"](*given).numpy()
    np.testing.assert_allclose(out, expected(x), rtol=1e-4, atol=1e-4)
