"""Graphs over tensors of every type and size, compiled for any CPU: as the interpreter says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tvm
from tests.end_to_end.cpus import CPUS
from tests.relax.op.compiled_graphs import run_both
from tests.relax.op.random_typed_graphs import typed_graph
from tvm import relax
from tvm.relax import op
from tvm.runtime import threads

pytestmark = pytest.mark.cpu

CLOSE = {"float64": 1e-5, "float32": 2e-4, "float16": 5e-2, "bfloat16": 2e-1}


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    yield
    threads.config_threads(0)


def check(seed: int) -> None:
    """One graph, for some CPU, level and number of threads."""
    graph = typed_graph(seed, 6 + seed % 6)
    found, wanted, told = run_both(graph, seed)
    narrow = "float16" in graph.module.script()
    for n, (a, b, exact) in enumerate(zip(found, wanted, graph.exact, strict=True)):
        note = f"{told}, result {n}"
        close = 0 if exact or b.dtype.kind in "iub" else CLOSE[b.dtype.name]
        near = max(close, 5e-2) if close and narrow else close
        np.testing.assert_allclose(_wide(a), _wide(b), rtol=near, atol=4 * near, err_msg=note)


def _wide(array: Any) -> Any:
    """numpy compares no bfloat16, and bool only as numbers."""
    return array if array.dtype.kind in "iu" else array.astype("float64")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 208, 491, 5133])
def test_some(seed: int) -> None:
    check(seed)


@pytest.mark.long
@pytest.mark.parametrize("first", range(100_000, 102_000, 20))
def test_many(first: int) -> None:
    for seed in range(first, first + 20):
        check(seed)


@pytest.mark.parametrize("cpu", CPUS)
def test_nothing_is_read_behind_the_indices(cpu: str) -> None:
    """A gather within a choice within a choice, in the lanes of a short row: the memory behind the
    four indices holds what is none."""
    n = tvm.tir.Var("n", "int64")
    bb = relax.BlockBuilder()
    data = relax.Var("data", relax.TensorStructInfo((1,), "int32"))
    at = relax.Var("at", relax.TensorStructInfo((n,), "int32"))
    with bb.function("main", [data, at]):
        with bb.dataflow():
            taken = bb.emit(op.take(data, at, 0, "fast"))
            out = bb.emit_output(op.sign(taken))
        bb.emit_func_output(out)
    vm = relax.VirtualMachine(tvm.compile(bb.get(), f"llvm -mcpu={cpu}"), tvm.cpu())
    behind = np.full(4096, 2**30, "int32")  # 4 GiB further on
    behind[:4] = 0
    indices = tvm.runtime.from_dlpack(behind[:4])
    found = vm["main"](tvm.runtime.tensor(np.array([5], "int32")), indices)
    assert found.numpy().tolist() == [1] * 4
