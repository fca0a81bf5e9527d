"""Statements of threads that wait for each other, as generators; see `fibers`.

What does not wait is a plain closure, as everywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Final

import numpy as np

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.functor import walk

from .expr import Code, Frame
from .fibers import Steps, Stop, answered
from .mfma import is_mfma
from .stmt import BreakLoop, ContinueLoop, StmtCompiler, has_jumps
from .values import numpy_dtype

Flow = Generator[Stop, None, None]
Part = tuple[bool, Any]  # whether it waits; then it is a generator, else a closure
BARRIER: Final = "tir.tvm_storage_sync"
EXCHANGES: Final = frozenset(
    f"tir.{name}"
    for name in (
        "tvm_thread_allreduce", "tvm_warp_shuffle", "tvm_warp_shuffle_up", "tvm_warp_shuffle_down",
        "tvm_warp_activemask", "cuda.__shfl_sync", "cuda.__shfl_up_sync", "cuda.__shfl_down_sync",
        "cuda.__activemask", "metal.simd_shuffle", "metal.simd_shuffle_up",
        "metal.simd_shuffle_down", "ptx_mma", "ptx_ldmatrix",
        "mma_fill", "mma_store",
    )
)  # fmt: skip


def is_exchange(node: Any) -> bool:
    """Whether threads give each other values here."""
    if not isinstance(node, e.Call):
        return False
    if e.op_name(node) in EXCHANGES:
        return True
    return bool(node.args) and isinstance(node.args[0], e.StringImm) and is_mfma(node.args[0].value)


def is_barrier(node: Any) -> bool:
    """Whether threads wait for each other here."""
    return e.is_call_of(node, BARRIER)


class StepCompiler(StmtCompiler):
    """Turns statements within threads into closures and generators."""

    def __init__(self, around: StmtCompiler) -> None:
        super().__init__(around.layout, around.program)
        self.reducer = around.reducer

    def waits(self, node: s.Stmt | PrimExpr) -> bool:
        """Whether a thread may stop within a statement or expression."""
        return any(is_exchange(n) or is_barrier(n) for n in walk(node))

    def part(self, stmt: s.Stmt) -> Part:
        """A statement as a generator where it has to be one."""
        return (True, self.steps(stmt)) if self.waits(stmt) else (False, self.compile_stmt(stmt))

    def code(self, expr: PrimExpr) -> Part:
        """An expression likewise."""
        code = self.compile(expr)
        return (True, answered(code)) if self.waits(expr) else (False, code)

    def steps(self, stmt: s.Stmt) -> Steps:
        """A statement as a generator."""
        if isinstance(stmt, s.SeqStmt):
            return self.sequence(stmt)
        if isinstance(stmt, s.For):
            threads = stmt.kind == s.ForKind.THREAD_BINDING
            return self.program.thread_steps(self, stmt) if threads else self.loop(stmt)
        if isinstance(stmt, s.While):
            return self.while_loop(stmt)
        if isinstance(stmt, s.IfThenElse):
            return self.choice(stmt)
        if isinstance(stmt, s.BlockRealize):
            return self.realized(stmt)
        if isinstance(stmt, s.Block):
            return self.block(stmt)
        if isinstance(stmt, s.AttrStmt) and stmt.attr_key in ("thread_extent", "virtual_thread"):
            return self.program.thread_steps(self, stmt)
        reducer = self.reducer
        prepare = self._preparation(stmt)
        if prepare is None:
            return answered(self.compile_stmt(stmt))
        # of a scope the body is left out: it is looked at by itself
        first = self.preparation(stmt, prepare)
        body = self.part(stmt.body)  # type: ignore[attr-defined]
        self.reducer = reducer
        return one_after_the_other([*first, body])

    def preparation(self, stmt: s.Stmt, prepare: Callable[[Frame], None]) -> list[Part]:
        """What a scope does before its body."""
        if isinstance(stmt, s.LetStmt):
            waits = self.waits(stmt.value)
        else:
            waits = isinstance(stmt, s.AssertStmt) and self.waits(stmt.condition)
        return [(True, answered(prepare)) if waits else (False, prepare)]

    def sequence(self, op: s.SeqStmt) -> Steps:
        """One statement after the other."""
        return one_after_the_other([self.part(stmt) for stmt in op.seq])

    def choice(self, op: s.IfThenElse) -> Steps:
        """One of two statements."""
        condition, yes = self.code(op.condition), self.part(op.then_case)
        no = None if op.else_case is None else self.part(op.else_case)

        def run(frame: Frame) -> Flow:
            which = (yield from condition[1](frame)) if condition[0] else condition[1](frame)
            waits, step = yes if which else no or _NOTHING
            if waits:
                yield from step(frame)
            else:
                step(frame)

        return run

    def loop(self, op: s.For) -> Steps:
        """A loop in its order."""
        return self.each(op, self.steps(op.body))

    def each(self, op: s.For, body: Steps) -> Steps:
        """A body for each number of a loop."""
        low, extent = self.code(op.min), self.code(op.extent)
        slot, kind = self.layout.slot(op.loop_var), numpy_dtype(op.loop_var.dtype)
        jumps: Any = (BreakLoop, ContinueLoop) if has_jumps(op.body) else ()

        def run(frame: Frame) -> Flow:
            start = int((yield from low[1](frame)) if low[0] else low[1](frame))
            count = int((yield from extent[1](frame)) if extent[0] else extent[1](frame))
            for value in np.arange(start, start + count, dtype=kind):
                frame[slot] = value
                try:
                    yield from body(frame)
                except jumps as jump:
                    if isinstance(jump, BreakLoop):
                        break

        return run

    def while_loop(self, op: s.While) -> Steps:
        """A loop as long as a condition holds."""
        condition, (waits, body) = self.code(op.condition), self.part(op.body)

        def run(frame: Frame) -> Flow:
            while (yield from condition[1](frame)) if condition[0] else condition[1](frame):
                try:
                    if waits:
                        yield from body(frame)
                    else:
                        body(frame)
                except ContinueLoop:
                    continue
                except BreakLoop:
                    break

        return run

    def realized(self, op: s.BlockRealize) -> Steps:
        """A block at the values of its variables."""
        values = [self.compile(value) for value in op.iter_values]
        slots = [self.layout.slot(iv.var) for iv in op.block.iter_vars]
        predicate = self.compile(op.predicate)

        def set_vars(frame: Frame) -> Any:
            here = predicate(frame)
            if here:
                for slot, value in zip(slots, [code(frame) for code in values]):
                    frame[slot] = value
            return here

        waits = any(map(self.waits, (op.predicate, *op.iter_values)))
        enter, body = answered(set_vars), self.steps(op.block)

        def run(frame: Frame) -> Flow:
            if (yield from enter(frame)) if waits else set_vars(frame):
                yield from body(frame)

        return run

    def block(self, op: s.Block) -> Steps:
        """What a block has, then its body."""
        before = [self.new_buffer(buffer) for buffer in op.alloc_buffers]
        before += [self._match(match) for match in op.match_buffers]
        parts: list[Part] = [(False, step) for step in before]
        if op.init is not None:
            parts.append(self._first(op, op.init))
        return one_after_the_other([*parts, self.part(op.body)])

    def _first(self, op: s.Block, init: s.Stmt) -> Part:
        """The init statement, at the first step of the reduction."""
        if not self.waits(init):
            return False, self._init(op)
        first, steps = self.first_step(op), self.steps(init)

        def run(frame: Frame) -> Flow:
            if first(frame):
                yield from steps(frame)

        return True, run


def one_after_the_other(parts: Sequence[Part]) -> Steps:
    """Parts in their order."""

    def run(frame: Frame) -> Flow:
        for waits, step in parts:
            if waits:
                yield from step(frame)
            else:
                step(frame)

    return run


def one_for_all(code: Code) -> Steps:
    """A closure as a generator that does not wait."""
    return one_after_the_other([(False, code)])


_NOTHING: Final[Part] = (False, lambda frame: None)
