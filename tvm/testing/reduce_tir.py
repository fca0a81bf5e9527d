"""Simpler forms of a PrimFunc: the edits that `reduce` tries, larger parts first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import ir_transform, substitute, vars_in, walk
from tvm.tir.op.arith import const

Edit = Callable[[], PrimFunc | None]
NOTHING: Final = s.Evaluate(e.IntImm("int32", 0))


def prim_func_edits(func: PrimFunc) -> Iterator[Edit]:
    """Functions with a part taken out or made simpler, each made when it is called."""
    for node in walk(func.body):
        for new in _simpler(node):
            yield partial(_replaced, func, node, new)
    used = set(vars_in(func.body))
    for param in func.params:
        buffer = func.buffer_map.get(param)
        if param not in used and (buffer is None or buffer.data not in used):
            yield partial(_without_param, func, param)


def _replaced(func: PrimFunc, old: Any, new: Callable[[], Any]) -> PrimFunc | None:
    made = new()
    body = ir_transform(func.body, lambda node: made if node is old else None, None)
    return None if body is func.body else func.with_body(body)


def _without_param(func: PrimFunc, param: e.Var) -> PrimFunc:
    params = [p for p in func.params if p is not param]
    buffers = {v: b for v, b in func.buffer_map.items() if v is not param}
    return PrimFunc(params, func.body, func.ret_type, buffers, func.attrs, func.span)


def _simpler(node: Any) -> Iterator[Callable[[], Any]]:
    if isinstance(node, s.Stmt):
        yield from _simpler_stmt(node)
    elif isinstance(node, PrimExpr):
        yield from _simpler_expr(node)


def _simpler_stmt(stmt: s.Stmt) -> Iterator[Callable[[], s.Stmt]]:
    if isinstance(stmt, s.SeqStmt):
        yield from _shorter(stmt)
    elif isinstance(stmt, s.For):
        yield lambda: substitute(stmt.body, {stmt.loop_var: stmt.min})
        if stmt.kind != s.ForKind.SERIAL or stmt.annotations:
            yield lambda: s.For(stmt.loop_var, stmt.min, stmt.extent, 0, stmt.body, span=stmt.span)
        yield lambda: NOTHING
    elif isinstance(stmt, s.IfThenElse):
        yield lambda: stmt.then_case
        if stmt.else_case is not None:
            other = stmt.else_case
            yield lambda: other
            yield lambda: s.IfThenElse(stmt.condition, stmt.then_case, None, stmt.span)
        yield lambda: NOTHING
    elif isinstance(stmt, s.LetStmt):
        yield lambda: substitute(stmt.body, {stmt.var: stmt.value})
    elif isinstance(stmt, s.BlockRealize):
        yield from _simpler_block(stmt)
    elif isinstance(
        stmt, (s.AttrStmt, s.AssertStmt, s.While, s.Allocate, s.AllocateConst, s.DeclBuffer)
    ):
        body = stmt.body
        yield lambda: body
    elif isinstance(stmt, s.BufferStore):
        yield lambda: NOTHING
        if stmt.predicate is not None:
            yield lambda: s.BufferStore(stmt.buffer, stmt.value, stmt.indices, span=stmt.span)


def _shorter(stmt: s.SeqStmt) -> Iterator[Callable[[], s.Stmt]]:
    """The sequence without halves, quarters, ... single statements of it."""
    step = (len(stmt.seq) + 1) // 2
    while step:
        for start in range(0, len(stmt.seq), step):
            left = [*stmt.seq[:start], *stmt.seq[start + step :]]
            if left:
                yield partial(_sequence, left)
        step //= 2


def _sequence(left: list[s.Stmt]) -> s.Stmt:
    return left[0] if len(left) == 1 else s.SeqStmt(left)


def _simpler_block(stmt: s.BlockRealize) -> Iterator[Callable[[], s.Stmt]]:
    block = stmt.block
    if not block.alloc_buffers and not block.match_buffers and block.init is None:
        values = {iv.var: value for iv, value in zip(block.iter_vars, stmt.iter_values)}
        yield lambda: substitute(block.body, values)
    if block.init is not None:
        yield lambda: _realize(stmt, init=None)
    if block.annotations:
        yield lambda: _realize(stmt, annotations={})
    if block.alloc_buffers:
        used = {n.buffer for n in walk(block) if isinstance(n, (e.BufferLoad, s.BufferStore))}
        kept = [b for b in block.alloc_buffers if b in used]
        if len(kept) < len(block.alloc_buffers):
            yield lambda: _realize(stmt, alloc_buffers=kept)
    if not (isinstance(stmt.predicate, e.IntImm) and stmt.predicate.value):
        yield lambda: s.BlockRealize(stmt.iter_values, e.IntImm("bool", 1), block, stmt.span)


def _realize(stmt: s.BlockRealize, **fields: Any) -> s.BlockRealize:
    block = stmt.block
    new = s.Block(
        block.iter_vars, block.reads, block.writes, block.name_hint, block.body,
        fields.get("init", block.init), fields.get("alloc_buffers", block.alloc_buffers),
        block.match_buffers, fields.get("annotations", block.annotations), block.span,
    )  # fmt: skip
    return s.BlockRealize(stmt.iter_values, stmt.predicate, new, stmt.span)


def _simpler_expr(expr: PrimExpr) -> Iterator[Callable[[], PrimExpr]]:
    """An operand of the same type instead, then zero and one."""
    if isinstance(expr, (e.Var, e.IntImm, e.FloatImm, e.StringImm)):
        if isinstance(expr, e.FloatImm) and expr.value not in (0.0, 1.0):
            yield lambda: e.FloatImm(expr.dtype, 1.0)
        return
    for operand in _operands(expr):
        if operand.dtype == expr.dtype:
            yield partial(_same, operand)
    if expr.dtype.is_handle or expr.dtype.is_void or expr.dtype.is_vector:
        return
    for number in (0, 1):
        yield partial(const, number, str(expr.dtype))


def _operands(expr: PrimExpr) -> Iterator[PrimExpr]:
    for name in ("a", "b", "value", "true_value", "false_value", "body"):
        operand = getattr(expr, name, None)
        if isinstance(operand, PrimExpr):
            yield operand
    if isinstance(expr, e.Call):
        yield from (arg for arg in expr.args if isinstance(arg, PrimExpr))


def _same(expr: PrimExpr) -> PrimExpr:
    return expr
