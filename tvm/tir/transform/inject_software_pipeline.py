"""Loops whose iterations overlap: each statement runs for the iteration that its stage is behind.

    for i in range(16):          # software_pipeline_stage [0, 1], software_pipeline_order [0, 1]
        with T.block(): B = T.alloc_buffer((1,));  B[0] = A[i] * 2;  C[i] = B[0] + 1
    ->
    with T.block():
        B = T.alloc_buffer((2, 1))
        B[0, 0] = A[0] * 2                                  # prologue
        for i in range(15):                                 # body
            B[(i + 1) % 2, 0] = A[i + 1] * 2
            C[i] = B[i % 2, 0] + 1
        C[15] = B[1, 0] + 1                                 # epilogue

Memory of the loop that a later stage reads while an earlier one writes it has several versions. A
stage in `software_pipeline_async_stages` runs in the background: its stores stand in
`async_commit_queue_scope`, what reads them in `async_wait_queue_scope`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from tvm.arith.analyzer import Analyzer
from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.module import IRModule
from tvm.ir.node import with_fields
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis.block_access_region import get_block_read_write_region
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, substitute
from tvm.tir.op import arith as ops

from .convert_ssa import to_ssa
from .pass_form import tir_pass
from .pipeline_queues import Part, Queues, with_queues
from .pipeline_versions import Staged, Versions, versions_needed

STAGE, ORDER = "software_pipeline_stage", "software_pipeline_order"
ASYNC = "software_pipeline_async_stages"


class PipelineError(CheckError, ValueError):
    """The annotations of a loop do not describe a pipeline of its statements."""


@tir_pass("tir.InjectSoftwarePipeline")
def InjectSoftwarePipeline(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No loop is annotated as a pipeline afterwards; copied statements have their own variables."""
    buffers = {buffer.data: buffer for buffer in func.buffer_map.values()}
    body = _Injector(buffers).visit_stmt(func.body)
    return func if body is func.body else to_ssa(func.with_body(body))


def _refuse(found: str, legal: str, where: s.Stmt) -> NoReturn:
    asked = "InjectSoftwarePipeline: make a pipeline of a loop"
    raise PipelineError(message(asked, found=found, where=f"\n{where}", legal=legal))


class _Injector(StmtExprMutator):
    """Rewrites annotated loops, inner ones first."""

    def __init__(self, buffers: dict[e.Var, Buffer]) -> None:
        super().__init__()
        self._buffers = buffers  # by their data, those in scope
        self._doubled: set[Buffer] = set()

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_block_(self, op: s.Block) -> s.Stmt:
        self._buffers |= {buffer.data: buffer for buffer in op.alloc_buffers}
        which: Any = op.annotations.get("double_buffer_scope")
        if which is not None:
            index = int(which)
            if not 0 <= index < len(op.writes):
                _refuse(f"double_buffer_scope {index} of a block that writes {len(op.writes)} "
                        "buffers", "the number of one of its write regions", op)  # fmt: skip
            self._doubled.add(op.writes[index].buffer)
        body = self.visit_stmt(op.body)
        for buffer in op.alloc_buffers:
            del self._buffers[buffer.data]
        return with_fields(op, body=body)

    def visit_for_(self, op: s.For) -> s.Stmt:
        loop = super().visit_for_(op)
        assert isinstance(loop, s.For), "a loop stays one"
        if STAGE not in op.annotations and ORDER not in op.annotations:
            return loop
        for key in (STAGE, ORDER):
            if key not in op.annotations:
                _refuse(f"no {key}", f"a loop with both {STAGE} and {ORDER}", op)
        allocated: list[Buffer] = []
        body: s.Stmt = loop.body
        if isinstance(body, s.BlockRealize):
            allocated.extend(body.block.alloc_buffers)
            body = body.block.body
        if not isinstance(body, s.SeqStmt):
            _refuse(f"a body that is one {type(body).__name__}", "several statements", op)
        self._buffers |= {buffer.data: buffer for buffer in allocated}
        parts = self._parts(body, allocated)
        info = self._info(op, parts)
        _check_order(info, op)
        made = _Pipeline(loop, info, allocated, self._doubled, self._buffers).built()
        return s.BlockRealize((), ops.const(True, "bool"), made, op.span)

    def _parts(self, body: s.SeqStmt, allocated: list[Buffer]) -> list[s.Block]:
        """The statements as blocks; those of a block among them count one by one."""
        found: list[s.Block] = []
        for stmt in body.seq:
            inner = stmt.block.body if isinstance(stmt, s.BlockRealize) else None
            if isinstance(stmt, s.BlockRealize) and isinstance(inner, s.SeqStmt) and ops.is_one(
                stmt.predicate
            ):
                allocated.extend(stmt.block.alloc_buffers)
                self._buffers |= {buffer.data: buffer for buffer in stmt.block.alloc_buffers}
                found += [as_block(one, self._buffers) for one in inner.seq]
            else:
                found.append(as_block(stmt, self._buffers))
        return found

    def _info(self, op: s.For, parts: list[s.Block]) -> list[Staged]:
        stages, orders = (_numbers(op, key) for key in (STAGE, ORDER))
        behind = set(_numbers(op, ASYNC)) if ASYNC in op.annotations else set()
        for key, given in ((STAGE, stages), (ORDER, orders)):
            if len(given) != len(parts):
                _refuse(f"{key} {given} for {len(parts)} statements", "one number for each", op)
        if sorted(orders) != list(range(len(parts))):
            _refuse(f"{ORDER} {orders}", "each statement in a position of its own, from 0", op)
        return [
            Staged(block, stage, order, stage in behind)
            for block, stage, order in zip(parts, stages, orders)
        ]


def _numbers(op: s.For, key: str) -> list[int]:
    given: Any = op.annotations[key]
    return [int(one) for one in given]


def _check_order(info: Sequence[Staged], op: s.For) -> None:
    """What reads or writes after another's write keeps behind it, as far as stages allow."""
    for i, first in enumerate(info):
        written = {region.buffer for region in first.block.writes}
        read = {region.buffer for region in first.block.reads}
        for second in info[i + 1 :]:
            writes = {region.buffer for region in second.block.writes}
            reads = {region.buffer for region in second.block.reads}
            if not (written & (reads | writes) or read & writes):
                continue
            if not written & reads and first.stage > second.stage:
                continue
            if first.stage > second.stage:
                _refuse(f"a statement of stage {first.stage} that one of stage {second.stage} "
                        "needs", "statements in stages not before those they need", op)  # fmt: skip
            if first.stage == second.stage and first.order > second.order:
                _refuse("two statements of one stage in the other order, though they touch the "
                        "same memory", "their own order", op)  # fmt: skip


def as_block(stmt: s.Stmt, buffers: Mapping[e.Var, Buffer]) -> s.Block:
    """The statement as a block that says what it touches; a plain block is itself."""
    if isinstance(stmt, s.BlockRealize) and ops.is_one(stmt.predicate):
        return stmt.block
    block = s.Block((), (), (), "", stmt, span=stmt.span)
    reads, writes = get_block_read_write_region(block, buffers)
    return with_fields(block, reads=tuple(reads), writes=tuple(writes))


@dataclass
class _Bounds:
    """The iterations of one of the three loops, and what is added to their numbers."""

    start: PrimExpr
    end: PrimExpr
    unroll: bool
    least: PrimExpr | None = None


class _Pipeline:
    """Makes the three loops of one pipeline."""

    def __init__(
        self,
        loop: s.For,
        info: Sequence[Staged],
        allocated: Sequence[Buffer],
        doubled: set[Buffer],
        buffers: dict[e.Var, Buffer],
    ) -> None:
        self._loop, self._buffers, self._allocated = loop, buffers, list(allocated)
        self._ordered = sorted(info, key=lambda one: one.order)
        self._depth = max(one.stage for one in info)
        count = {buffer: versions_needed(buffer, info, buffer in doubled) for buffer in allocated}
        self._versions = Versions(loop, count, buffers, all_versions=self._depth != 1)
        self._analyzer = Analyzer()
        self._queues = Queues(self._analyzer)

    def built(self) -> s.Block:
        """A block with the memory, and the three loops."""
        low, extent, depth = self._loop.min, self._loop.extent, self._depth
        end = low + extent
        first = self._emitted(_Bounds(low, low + depth, True))
        body = self._emitted(_Bounds(low + depth, end, False))
        start, least = end, None
        if depth > 1 and not self._analyzer.can_prove_greater_equal(extent, depth):
            if isinstance(end, e.IntImm):  # a loop shorter than the pipeline is deep
                start = ops.max_of(end, low + depth)
            else:
                least = low + depth
        last = self._emitted(_Bounds(start, end + depth, True, least))
        for buffer in self._allocated:
            del self._buffers[buffer.data]
        block = as_block(s.SeqStmt([first, body, last], self._loop.span), self._buffers)
        buffers = [self._versions.remap.get(buffer, buffer) for buffer in self._allocated]
        return with_fields(block, alloc_buffers=tuple(buffers))

    def _emitted(self, bounds: _Bounds) -> s.Stmt:
        """The statements for the iterations from `start` to `end`, each behind by its stage."""
        loop, analyzer = self._loop, self._analyzer
        extent = ops.subtract(bounds.end, bounds.start)
        if analyzer.can_prove(ops.less_equal(extent, 0)):
            return self._realized(s.Evaluate(ops.const(0)))
        single = analyzer.can_prove_equal(extent, 1)
        iteration: PrimExpr = bounds.start
        normal = Analyzer()
        var = loop.loop_var.copy_with_suffix("")
        if not single:
            iteration = var
            analyzer.bind(var, Range(bounds.start, bounds.end))
            normal.bind(var, Range.from_min_extent(loop.min, extent))
        delta = ops.subtract(bounds.start, loop.min)
        parts: list[Part] = []
        self._queues.enter()
        for one in self._ordered:
            skewed = ops.subtract(iteration, one.stage)
            inbound = self._inbound(skewed, iteration, bounds)
            if analyzer.can_prove(ops.logical_not(inbound)):
                continue
            index = skewed if single else ops.add(skewed, delta)
            if not single:
                inbound = substitute(inbound, {var: ops.add(var, delta)})
            block = substitute(self._versions.rewritten(one.block), {loop.loop_var: index})
            part = Part(one.stage, inbound, block, index, one.behind)
            parts.append(self._queues.added(part, normal))
        scope = self._buffers | self._versions.by_data
        stmts = with_queues(self._queues, parts, normal, scope)
        self._queues.leave(extent, normal)
        if not stmts:
            return self._realized(s.Evaluate(ops.const(0)))
        made: s.Stmt = stmts[0] if len(stmts) == 1 else s.SeqStmt(stmts, loop.span)
        if not single:
            kept = {k: v for k, v in loop.annotations.items() if k not in (STAGE, ORDER, ASYNC)}
            kind = s.ForKind.UNROLLED if bounds.unroll else loop.kind
            made = s.For(var, loop.min, extent, kind, made, None, kept, loop.span)
        return self._realized(made)

    def _inbound(self, skewed: PrimExpr, iteration: PrimExpr, bounds: _Bounds) -> PrimExpr:
        low = self._loop.min
        begun = self._analyzer.simplify(ops.less_equal(low, skewed))
        inbound = ops.logical_and(begun, ops.less(skewed, ops.add(low, self._loop.extent)))
        if bounds.least is None:
            return inbound
        return self._analyzer.simplify(
            ops.logical_and(inbound, ops.greater_equal(iteration, bounds.least))
        )

    def _realized(self, stmt: s.Stmt) -> s.Stmt:
        block = as_block(stmt, self._buffers | self._versions.by_data)
        return s.BlockRealize((), ops.const(True, "bool"), block, stmt.span)
