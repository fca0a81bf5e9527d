"""How many tasks a parallel loop asks for, and which iterations each of them takes."""

from __future__ import annotations

import numpy as np
import pytest

from tvm.ir.expr import GlobalVar
from tvm.ir.module import IRModule
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import decl_buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import walk
from tvm.tir.interp import run
from tvm.tir.transform.outline_parallel_loops import OutlineParallelLoops
from tvm.tir.transform.parallel_tasks import GRAIN, MAX_TASKS, launch, task

pytestmark = pytest.mark.pure


def loop(extent: object, grain: int | None = None) -> s.For:
    i = e.Var("i", getattr(extent, "dtype", "int32"))
    b = decl_buffer((64,), "int32", "b")
    notes = {} if grain is None else {GRAIN: grain}
    return s.For(i, 0, extent, s.ForKind.PARALLEL, s.BufferStore(b, 1, [i]), annotations=notes)


def tasks_of(made: s.Stmt) -> e.PrimExpr:
    (call,) = (n for n in walk(made) if getattr(getattr(n, "op", None), "name", "")
               == "tir.parallel_launch")  # fmt: skip
    return call.args[2]


@pytest.mark.parametrize(
    ("extent", "grain", "count"),
    [(64, None, 64), (64, 5, 12), (3, 5, 1), (64, 0, 64), (2**40, None, MAX_TASKS)],
)
def test_a_task_an_iteration_or_a_grain(extent: int, grain: int | None, count: int) -> None:
    kind = "int64" if extent > MAX_TASKS else "int32"
    made = launch(loop(e.IntImm(kind, extent), grain), "t", [])
    assert tasks_of(made).value == count
    assert not any(isinstance(node, s.IfThenElse) for node in walk(made))


def test_an_extent_of_data_is_looked_at_first() -> None:
    n = e.Var("n", "int64")
    made = launch(loop(n, 8), "t", [n])
    assert any(isinstance(node, s.IfThenElse) for node in walk(made))
    assert str(tasks_of(made).dtype) == "int32"


def test_a_task_reads_what_the_launch_has_stored() -> None:
    fields = [e.Var(name, "int64") for name in ("start", "extent", "a")]
    made = task(GlobalVar("body"), fields)
    read = {node.var.name for node in walk(made.body) if isinstance(node, s.LetStmt)}
    assert {"start", "extent", "a", "count", "first", "last"} <= read


@pytest.mark.parametrize("n", [0, 1, 5, 64])
@pytest.mark.parametrize("grain", [None, 1, 7, 100])
def test_each_iteration_is_done_once(n: int, grain: int | None) -> None:
    b, size, i = decl_buffer((64,), "int32", "b"), e.Var("n", "int32"), e.Var("i", "int32")
    notes = {} if grain is None else {GRAIN: grain}
    body = s.For(i, 0, size, s.ForKind.PARALLEL,
                 s.BufferStore(b, e.BufferLoad(b, [i]) + 1, [i]), annotations=notes)  # fmt: skip
    mod = OutlineParallelLoops()(IRModule({"f": PrimFunc([b.data, size], body)}))
    out = np.zeros(64, "int32")
    run(mod, out, n, name="f")
    assert out.tolist() == [1] * n + [0] * (64 - n)
