"""GuardEmptyResults: nothing is stored where there is no element."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import te, tir, topi
from tvm.tir.transform.guard_empty_results import GuardEmptyResults


def running_sum(*shape: int | tir.Var, axis: int) -> tvm.IRModule:
    x = te.placeholder(shape, "float32", "x")
    return tvm.IRModule({"main": te.create_prim_func([x, topi.cumsum(x, axis)])})


@pytest.mark.pure
def test_blocks_without_iterators_are_guarded() -> None:
    m, n = tir.Var("m", "int64"), tir.Var("n", "int64")
    after = GuardEmptyResults()(running_sum(m, n, axis=1))
    assert "if m > T.int64(0) and n > T.int64(0):" in after.script()
    assert "if n > T.int64(0):" in GuardEmptyResults()(running_sum(3, n, axis=1)).script()


@pytest.mark.pure
def test_what_always_has_elements_and_what_runs_once_for_each_stay() -> None:
    fixed = running_sum(3, 4, axis=1)
    assert GuardEmptyResults()(fixed)["main"] is fixed["main"]
    x = te.placeholder((tir.Var("n", "int64"),), "float32", "x")
    each = tvm.IRModule({"main": te.create_prim_func([x, topi.exp(x)])})
    assert GuardEmptyResults()(each)["main"] is each["main"]


@pytest.mark.cpu
@pytest.mark.parametrize("axis", [0, 1])
def test_memory_behind_an_empty_result_stays(axis: int) -> None:
    m, n = tir.Var("m", "int64"), tir.Var("n", "int64")
    run = tvm.compile(running_sum(m, n, axis=axis), target="llvm")
    shape = (0, 5) if axis == 0 else (5, 0)
    memory = np.full(64, 7, "float32")
    empty = tvm.runtime.from_dlpack(memory[:0].reshape(shape))
    run["main"](tvm.runtime.tensor(np.ones(shape, "float32")), empty)
    assert (memory == 7).all()
    given = np.arange(6, dtype="float32").reshape(2, 3)
    out = tvm.runtime.tensor(np.zeros((2, 3), "float32"))
    run["main"](tvm.runtime.tensor(given), out)
    np.testing.assert_array_equal(out.numpy(), given.cumsum(axis))
