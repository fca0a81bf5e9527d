"""Statements of a software pipeline that run in the background: what is committed, what waits.

    with T.attr(0, "async_commit_queue_scope", 0):      # a group of copies of stage 0 begins
        with T.attr(0, "async_scope", 1): B[(i + 1) % 2] = A[i + 1]
    with T.attr(0, "async_wait_queue_scope", 0):        # go on when at most one group is on its way
        with T.attr(0, "async_wait_inflight_count", 1): C[i] = B[i % 2]

How many groups may be on their way is the distance of what the stage has begun from what is read.
Where a condition hides how many were begun, all are waited for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from tvm.arith.analyzer import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.ir.node import with_fields
from tvm.ir.structural import structural_equal
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis.block_access_region import get_block_read_write_region
from tvm.tir.buffer import Buffer
from tvm.tir.op import arith as ops
from tvm.tir.op import if_then_else


@dataclass
class Part:
    """A statement of one of the three loops."""

    stage: int
    predicate: PrimExpr
    block: s.Block
    index: PrimExpr  # the iteration that it runs for
    behind: bool


@dataclass
class _Global:
    """What is known of a stage in the background over all three loops."""

    written: set[Buffer] = field(default_factory=set)
    # the iteration that was begun last; None where that is not known
    head: PrimExpr | None = field(default_factory=lambda: ops.const(-1))


@dataclass
class _Local:
    """The same within one of the loops."""

    groups: list[list[int]] = field(default_factory=list)  # numbers of parts committed together
    seen: set[Buffer] = field(default_factory=set)
    head: PrimExpr | None = None
    predicate: PrimExpr | None = None
    consumed: bool = False
    wait: tuple[int, PrimExpr] | None = None  # before which part, for how many


class Queues:
    """The stages in the background."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer: Final = analyzer
        self._stages: dict[int, _Global] = {}
        self._group_of: dict[Buffer, int] = {}
        self.local: dict[int, _Local] = {}
        self._count = 0

    def enter(self) -> None:
        """The next loop begins."""
        self.local = {}
        self._count = 0

    def added(self, part: Part, normal: Analyzer) -> Part:
        """Note a part, and mark it if it runs in the background."""
        if part.behind:
            self._begin(part, normal)
            zero = ops.const(0)
            body = s.AttrStmt(zero, "async_scope", ops.const(1), part.block.body, part.block.span)
            part = replace(part, block=with_fields(part.block, body=body))
        for stage in self.read_by(part):
            self.local.setdefault(stage, _Local()).consumed = True
        self._count += 1
        return part

    def _begin(self, part: Part, normal: Analyzer) -> None:
        state = self.local.setdefault(part.stage, _Local())
        if not state.groups or state.consumed:
            state.groups.append([])  # a reader stands between: it must not wait for what follows
        state.groups[-1].append(self._count)
        for region in part.block.writes:
            self._stages.setdefault(part.stage, _Global()).written.add(region.buffer)
            self._group_of[region.buffer] = len(state.groups) - 1
        state.head = part.index
        if state.predicate is None or normal.can_prove(state.predicate):
            state.predicate = part.predicate
        else:
            state.predicate = normal.simplify(ops.bitwise_and(state.predicate, part.predicate))

    def read_by(self, part: Part) -> list[int]:
        """The background stages, up to its own, whose memory a part reads."""
        read = {region.buffer for region in part.block.reads}
        return [
            stage for stage, known in sorted(self._stages.items())
            if stage <= part.stage and known.written & read
        ]  # fmt: skip

    def insert_waits(self, parts: Sequence[Part], normal: Analyzer) -> None:
        """Find before which parts to wait, and for how many groups."""
        for number, part in enumerate(parts):
            if part.behind:
                self.local[part.stage].seen |= {region.buffer for region in part.block.writes}
            for stage in self.read_by(part):
                state = self.local.setdefault(stage, _Local())
                count = self._in_flight(part, self._heads(part, stage, state), normal)
                if state.wait is None:
                    state.wait = number, count
                elif self._analyzer.can_prove(ops.less(count, state.wait[1])):
                    state.wait = state.wait[0], count

    def _heads(self, part: Part, stage: int, state: _Local) -> list[PrimExpr | None]:
        """The iteration that each group which a part reads has last begun."""
        if not state.groups:
            return [self._stages[stage].head]  # nothing is begun here: what the loops before did
        assert state.head is not None, "a group has a head"
        heads: dict[int, PrimExpr] = {}
        for region in part.block.reads:
            if region.buffer in self._stages[stage].written:
                here = region.buffer in state.seen
                head = state.head if here else ops.subtract(state.head, 1)
                heads.setdefault(self._group_of[region.buffer], head)
        return list(heads.values())

    def _in_flight(
        self, part: Part, heads: Sequence[PrimExpr | None], normal: Analyzer
    ) -> PrimExpr:
        total: PrimExpr = ops.const(0)
        for head in heads:
            if head is None or not normal.can_prove(ops.greater_equal(head, 0)):
                return ops.const(0)
            total = ops.add(total, self._analyzer.simplify(ops.subtract(head, part.index)))
        return total

    def leave(self, extent: PrimExpr, normal: Analyzer) -> None:
        """The loop is done: the stages have begun as many groups as it has iterations."""
        for stage, state in self.local.items():
            known = self._stages.setdefault(stage, _Global())
            if state.predicate is None or not normal.can_prove(state.predicate):
                known.head = known.head if state.predicate is None else None
            elif known.head is not None:
                known.head = ops.add(known.head, extent)


def with_queues(
    queues: Queues, parts: Sequence[Part], normal: Analyzer, buffers: Mapping[e.Var, Buffer]
) -> list[s.Stmt]:
    """The statements of a loop, with commits around groups and waits before their readers."""
    queues.insert_waits(parts, normal)
    parts = list(parts)
    committed: dict[int, int] = {}
    for stage, state in sorted(queues.local.items()):
        for group in state.groups:
            committed.update(dict.fromkeys(group, stage))
        if state.wait is None:
            continue
        number, count = state.wait
        if state.predicate is not None and not normal.can_prove(state.predicate):
            count = if_then_else(state.predicate, count, ops.const(0))
        block = parts[number].block
        body: s.Stmt = block.body
        for key, value in (
            ("async_wait_inflight_count", count), ("async_wait_queue_scope", ops.const(stage))
        ):  # fmt: skip
            body = s.AttrStmt(ops.const(0), key, value, body, block.span)
        parts[number] = replace(parts[number], block=with_fields(block, body=body))
    return _grouped(parts, committed, buffers)


def _grouped(
    parts: Sequence[Part], committed: Mapping[int, int], buffers: Mapping[e.Var, Buffer]
) -> list[s.Stmt]:
    stmts: list[s.Stmt] = []
    number = 0
    while number < len(parts):
        part, stage = parts[number], committed.get(number)
        if stage is None:
            stmts.append(s.BlockRealize((), part.predicate, part.block, part.block.span))
            number += 1
            continue
        bodies: list[s.Stmt] = []
        while number < len(parts) and committed.get(number) == stage:
            assert structural_equal(parts[number].predicate, part.predicate), "of one stage"
            bodies.append(parts[number].block.body)
            number += 1
        body = bodies[0] if len(bodies) == 1 else s.SeqStmt(bodies)
        span = part.block.span
        scope = s.AttrStmt(ops.const(0), "async_commit_queue_scope", ops.const(stage), body, span)
        block = s.Block((), (), (), "", scope, span=span)
        reads, writes = get_block_read_write_region(block, buffers)
        block = with_fields(block, reads=tuple(reads), writes=tuple(writes))
        stmts.append(s.BlockRealize((), part.predicate, block, span))
    return stmts
