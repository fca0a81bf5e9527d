"""From a model in Relay to tuned kernels and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import meta_schedule as ms
from tvm import relay
from tvm.contrib import graph_executor
from tvm.meta_schedule.relay_integration import (
    compile_relay,
    extract_tasks,
    is_meta_schedule_enabled,
    tune_relay,
)
from tvm.meta_schedule.testing.dummy_object import DummyBuilder, DummyRunner
from tvm.target import Target

pytestmark = pytest.mark.cpu
TARGET = Target("llvm -mcpu=core-avx2 --num-cores=2")
RNG = np.random.default_rng(0)
PARAMS = {"w": tvm.runtime.tensor(RNG.uniform(-1, 1, (8, 16)).astype("float32"))}


def layers() -> tvm.IRModule:
    """Two layers of one form, and a softmax."""
    x, w = relay.var("x", shape=(4, 16)), relay.var("w", shape=(8, 16))
    hidden = relay.nn.relu(relay.nn.dense(x, w))
    other = relay.nn.relu(relay.nn.dense(relay.exp(x), w))
    return tvm.IRModule.from_expr(
        relay.Function([x, w], relay.Tuple([relay.nn.softmax(hidden), other]))
    )


def test_tasks_are_the_kernels_equal_ones_once() -> None:
    tasks = extract_tasks(layers(), TARGET, PARAMS)
    weights = {task.task_name: task.weight for task in tasks}
    assert any(name.startswith("fused_") and weight == 2 for name, weight in weights.items()), (
        weights
    )
    assert any("softmax" in name for name in weights), weights
    assert all(isinstance(task.dispatched[0], tvm.IRModule) for task in tasks)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A database of records, which counts the questions to it."""
    return tune_relay(
        layers(), PARAMS, TARGET, str(tmp_path_factory.mktemp("tuned")), max_trials_global=2,
        num_trials_per_iter=1, seed=1, builder=DummyBuilder(), runner=DummyRunner(),
        cost_model="random",
    )  # fmt: skip


@pytest.mark.parametrize("backend", ["graph", "vm"])
def test_compiled_with_the_database(
    backend: str, tuned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tuned.get_all_tuning_records()
    asked: list[Any] = []
    query = tuned.query_tuning_record
    monkeypatch.setattr(
        tuned, "query_tuning_record", lambda *a, **k: asked.append(a) or query(*a, **k)
    )
    x = RNG.uniform(-1, 1, (4, 16)).astype("float32")
    made = compile_relay(tuned, layers(), "llvm", PARAMS, backend=backend)
    if backend == "graph":
        runner = graph_executor.GraphModule(made["default"](tvm.cpu()))
        runner.run(x=x)
        found = runner.get_output(0).numpy()
    else:
        machine: Any = tvm.runtime.vm.VirtualMachine(made, tvm.cpu())
        found = machine.run(x)[0].numpy()
    assert asked, "the kernels' schedules come from the database"
    wanted = relay.create_executor("debug", mod=layers(), params=PARAMS).evaluate()(x)[0].numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


def test_backends_are_two() -> None:
    with pytest.raises(ValueError, match=r"backend 'aot'; legal: 'graph', 'vm'"):
        compile_relay(ms.database.MemoryDatabase(), layers(), "llvm", None, backend="aot")


def test_the_context_says_whether_it_is_in_force() -> None:
    assert not is_meta_schedule_enabled()
    with tvm.transform.PassContext(config={"relay.backend.use_meta_schedule": True}):
        assert is_meta_schedule_enabled()
