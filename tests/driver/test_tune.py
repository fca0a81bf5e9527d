"""Whole programs are tuned, and never become slower by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.driver.tune import TaskState, error_kind, tune
from tvm.meta_schedule.builder import BuilderInput, BuilderResult, PyBuilder
from tvm.meta_schedule.database import MemoryDatabase
from tvm.meta_schedule.runner import PyRunner, RunnerFuture, RunnerInput, RunnerResult
from tvm.meta_schedule.utils import derived_object
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


@I.ir_module
class Net:
    @R.function
    def main(
        x: R.Tensor((4, 32), "float32"), w: R.Tensor((32, 16), "float32")
    ) -> R.Tensor((4, 16), "float32"):
        with R.dataflow():
            y = R.nn.relu(R.matmul(x, w))
            R.output(y)
        return y


@I.ir_module
class Open:
    @R.function
    def main(x: R.Tensor(("n", 32), "float32")) -> R.Tensor(("n", 32), "float32"):
        with R.dataflow():
            y = R.nn.relu(x)
            R.output(y)
        return y


@I.ir_module
class Kernel:
    @T.prim_func
    def scale(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        T.func_attr({"tir.noalias": True})
        for i in range(64):
            with T.block("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] * T.float32(2)


@derived_object
class Written(PyBuilder):
    """Compiles nothing; the path tells which build it was."""

    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        return [BuilderResult("/nowhere/at/all", None) for _ in build_inputs]


def runner(seconds: Callable[[int], float | str]) -> PyRunner:
    """Measures nothing: run number i took seconds(i), or failed with a text."""
    runs = iter(range(10**6))

    @derived_object
    class Told(PyRunner):
        def run(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerFuture]:
            return [told(seconds(next(runs))) for _ in runner_inputs]

    return Told()


def told(given: float | str) -> RunnerFuture:
    failed = isinstance(given, str)
    result = RunnerResult(None if failed else [given], given if failed else None)
    return RunnerFuture(lambda: True, lambda: result)


def search(mod: tvm.IRModule, seconds: Callable[[int], float | str], **options: object):
    settings = {"target": "llvm -mcpu=haswell", "max_trials": 4, "trials_per_round": 4, "seed": 3}
    return tune(mod, builder=Written(), runner=runner(seconds), **{**settings, **options})


def right(executable: object) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(4, 32)).astype("f4"), rng.normal(size=(32, 16)).astype("f4")
    out = relax.VirtualMachine(executable, tvm.cpu())["main"](*map(tvm.runtime.tensor, (x, w)))
    np.testing.assert_allclose(out.numpy(), np.maximum(x @ w, 0), rtol=1e-5, atol=1e-5)


def test_what_is_faster_is_taken() -> None:
    states: list[list[TaskState]] = []
    database = MemoryDatabase()
    found = search(
        Net, lambda run: 10e-6 if run == 0 else 5e-6 + run * 1e-6, database=database,
        watch=states.append,
    )  # fmt: skip
    (task,) = found.tasks
    assert (task.calls, task.trials, task.errors) == (1, 4, {})
    assert (task.rule_s, task.best_s) == (10e-6, 6e-6)
    assert states[-1] == found.tasks
    assert len(database) == 4, "the schedule by rule is no record"
    right(found.compile())


def test_the_rule_stays_where_it_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    found = search(Net, lambda run: 1e-6 if run == 0 else 2e-6)
    query = MemoryDatabase.query_tuning_record
    monkeypatch.setattr(
        MemoryDatabase, "query_tuning_record",
        lambda *given: asked.append(query(*given)) or asked[-1],
    )  # fmt: skip
    made = found.compile()
    assert [record.run_secs for record in asked] == [[2e-6]], "there is one, and it is slower"
    right(made)
    kernels = tvm.compile(Net, "llvm -mcpu=haswell").mod.kernels
    assert made.mod.kernels.inspect_source() == kernels.inspect_source()


def test_failures_are_counted_by_kind() -> None:
    why = ["LocalRunner: Timeout, killed after 30 seconds", "the worker process died", "bad", 3e-6]
    found = search(Net, lambda run: 1e-6 if run == 0 else why[run - 1])
    (task,) = found.tasks
    assert task.errors == {"took too long": 1, "crashed": 1, "did not run": 1}
    assert (task.trials, task.best_s) == (4, 3e-6)
    assert error_kind("no such intrinsic", None) == "did not compile"


def test_nothing_could_be_measured() -> None:
    found = search(Net, lambda run: "bad")
    assert [(t.rule_s, t.best_s, t.trials) for t in found.tasks] == [(None, None, 4)]
    right(found.compile())


def test_sizes_that_are_open() -> None:
    found = search(Open, lambda run: 1e-6)
    assert (found.tasks, found.unmeasured) == ([], ["relu"])
    x = np.float32([[-1, 2] * 16])
    vm = relax.VirtualMachine(found.compile(), tvm.cpu())
    np.testing.assert_array_equal(vm["main"](tvm.runtime.tensor(x)).numpy(), np.maximum(x, 0))


def test_kernels_alone() -> None:
    found = search(Kernel, lambda run: 10e-6 if run == 0 else 5e-6)
    x, out = np.arange(64, dtype="f4"), tvm.runtime.empty((64,), "float32")
    found.compile()["scale"](tvm.runtime.tensor(x), out)
    np.testing.assert_array_equal(out.numpy(), x * 2)
    assert [task.name for task in found.tasks] == ["scale"]


def test_ctrl_c_keeps_what_was_measured() -> None:
    def interrupted(run: int) -> float:
        if run == 3:
            raise KeyboardInterrupt
        return 10e-6 if run == 0 else 5e-6

    database = MemoryDatabase()
    found = search(Net, interrupted, database=database, max_trials=8, trials_per_round=1)
    assert len(database) >= 1
    right(found.compile())


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match=r"found: no limit\n  legal: max_trials= or max_seconds="):
        tune(Net)
    with pytest.raises(ValueError, match=r"found: target cuda\n  legal: llvm or c"):
        tune(Net, "cuda", max_trials=1)


def test_candidates_are_checked() -> None:
    given: list[RunnerInput] = []

    @derived_object
    class Looks(PyRunner):
        def run(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerFuture]:
            given.extend(runner_inputs)
            wrong = [i.reference is not None for i in runner_inputs]
            return [told("wrong result: off by 3" if w else 1e-6) for w in wrong]

    found = tune(
        Net, "llvm -mcpu=haswell", builder=Written(), runner=Looks(), max_trials=4, seed=3,
        trials_per_round=4, check=True,
    )  # fmt: skip
    (task,) = found.tasks
    assert task.errors == {"wrong result": 4}
    assert [(i.reference, i.best_s) for i in given[1:]] == [("/nowhere/at/all", 1e-6)] * 4
    with pytest.raises(ValueError, match=r"runner ray://head"):
        tune(Net, max_trials=1, runner="ray://head", check=True)


def test_weights_are_measured_as_they_lie_when_compiled() -> None:
    """The rule packs weights, and its time is that of a kernel whose weights are packed."""
    weights = np.random.default_rng(2).standard_normal((48, 36)).astype("float32")
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((32, 48), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit_output(relax.op.matmul(x, relax.const(weights)))
        bb.emit_func_output(y)
    tuned = tune(bb.get(), "llvm", max_trials=2)
    (task,) = tuned.tasks
    assert task.rule_s is not None
    assert not task.errors
    vm = relax.VirtualMachine(tuned.compile(), tvm.cpu())
    given = np.random.default_rng(3).standard_normal((32, 48)).astype("float32")
    got = vm["main"](tvm.runtime.tensor(given)).numpy()
    np.testing.assert_allclose(got, given @ weights, rtol=1e-4, atol=1e-4)
