"""Launches of parallel loops: what is put on the stack, how many tasks, and what each task runs.

    closure: 8 bytes a value         start, extent, what the body uses from around it
    a task                           reads the closure, takes its share, calls the body
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis.kernel_form import GRAIN as GRAIN
from tvm.tir.function import PrimFunc
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin
from tvm.tir.struct_field import StructField

MAX_TASKS: Final = 2147483647
_SLOT: Final = int(StructField.VALUE_CONTENT)
_INT32: Final = DataType("int32")
_INT64: Final = DataType("int64")
_HANDLE: Final = DataType("handle")


def launch(op: s.For, task: str, captured: Sequence[e.Var]) -> s.Stmt:
    """Put what the task needs on the stack, and hand the task to the pool."""
    named: list[tuple[e.Var, PrimExpr]] = []
    bounds: list[PrimExpr] = []
    for name, value in (("start", op.min), ("extent", op.extent)):
        if not isinstance(value, (e.Var, e.IntImm)):
            named.append((e.Var(name, value.dtype), value))
            value = named[-1][0]
        bounds.append(value)
    closure = e.Var("closure", _HANDLE)
    body: s.Stmt = s.Evaluate(
        builtin.parallel_launch(task, closure, _task_count(op, bounds[1])), op.span
    )
    if not isinstance(op.extent, e.IntImm):
        body = s.IfThenElse(bounds[1] > 0, body)
    sets = [
        s.Evaluate(builtin.tvm_struct_set(closure, n, _SLOT, _widened(value)))
        for n, value in enumerate([*bounds, *captured])
    ]
    room = builtin.tvm_stack_alloca("arg_value", len(sets))
    body = s.LetStmt(closure, room, s.SeqStmt.flatten(*sets, body), op.span)
    for var, value in reversed(named):
        body = s.LetStmt(var, value, body, op.span)
    return body


def _widened(value: PrimExpr) -> PrimExpr:
    return ops.cast(value, _INT64) if isinstance(value, e.IntImm) else value


def _task_count(op: s.For, extent: PrimExpr) -> PrimExpr:
    """At most one task an iteration; the pool takes fewer when it has fewer threads.

    A loop may say how many iterations are worth a task: below two of them it is run where it
    stands.
    """
    asked = op.annotations.get(GRAIN)
    grain = max(int(asked), 1) if isinstance(asked, (int, e.IntImm)) else 1
    if isinstance(extent, e.IntImm):
        return ops.const(min(max(extent.value // grain, 1), MAX_TASKS), "int32")
    if grain > 1:
        extent = ops.max_of(e.Div(extent, ops.const(grain, extent.dtype)),
                            ops.const(1, extent.dtype))  # fmt: skip
    if extent.dtype.bits > 32:
        extent = ops.min_of(extent, ops.const(MAX_TASKS, extent.dtype))
    return ops.cast(extent, _INT32)


def task(body: GlobalVar, fields: Sequence[e.Var]) -> PrimFunc:
    """What the pool calls: task `task_id` takes its share of the iterations."""
    number = e.Var("task_id", _INT32)
    env, closure = e.Var("env", _HANDLE), e.Var("closure", _HANDLE)
    (start, extent), index = fields[:2], fields[0].dtype
    tasks = builtin.tvm_struct_get(env, 0, int(StructField.PARALLEL_TASKS), _INT32)
    count, first, last = (e.Var(name, _INT64) for name in ("count", "first", "last"))
    wide, wide_id = ops.cast(extent, _INT64), ops.cast(number, _INT64)
    share = [e.Add(start, ops.cast(first, index)), ops.cast(e.Sub(last, first), index)]
    run: s.Stmt = s.Evaluate(e.Call(_INT32, body, [*share, *fields[2:]]))
    run = s.LetStmt(last, e.Div(e.Mul(wide, e.Add(wide_id, ops.const(1, _INT64))), count), run)
    run = s.LetStmt(first, e.Div(e.Mul(wide, wide_id), count), run)
    run = s.LetStmt(count, ops.cast(tasks, _INT64), run)
    for n, field in reversed(list(enumerate(fields))):
        run = s.LetStmt(field, builtin.tvm_struct_get(closure, n, _SLOT, field.dtype), run)
    return PrimFunc([number, env, closure], run)
