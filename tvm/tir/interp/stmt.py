"""Statements as Python closures; see `expr` for frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.functor import walk

from .errors import AssertionFailed
from .expr import Code, ExprCompiler, Frame, check_lanes, masked_indices
from .fibers import memory
from .memory import Pointer, allocate, buffer_view, element_strides, put
from .nest import compile_nest
from .values import numpy_dtype

Step = Callable[[Frame], None]
JUMPS = ("tir.break_loop", "tir.continue_loop")


class BreakLoop(Exception):
    """Leave the innermost loop."""


class ContinueLoop(Exception):
    """Go on with the next iteration."""


def _words(text: Any) -> str:
    """The message of an assertion; of a tuple, its first part with the others for each {}."""
    if not isinstance(text, tuple):
        return str(text)
    words, *values = text
    for value in values:
        words = str(words).replace("{}", str(value), 1)
    return str(words)


class StmtCompiler(ExprCompiler):
    """Turns statements into closures."""

    reducer: e.CommReducer | None = None  # of the reduction over threads around

    def compile_stmt(self, stmt: s.Stmt) -> Step:
        """The closure of a statement."""
        step: Step = self.visit_stmt(stmt)
        return step

    # --- scopes: statements that prepare something for a body ---

    def _scoped(self, stmt: s.Stmt) -> Step:
        """A run of nested scopes as a loop over their preparations, then the body."""
        steps: list[Step] = []
        reducer = self.reducer
        while True:
            prepare = self._preparation(stmt)
            if prepare is None:
                break
            steps.append(prepare)
            stmt = stmt.body  # type: ignore[attr-defined]
        body = self.compile_stmt(stmt)
        self.reducer = reducer
        if len(steps) == 1:
            first = steps[0]

            def run_one(frame: Frame) -> None:
                first(frame)
                body(frame)

            return run_one

        def run(frame: Frame) -> None:
            for step in steps:
                step(frame)
            body(frame)

        return run

    def _preparation(self, stmt: s.Stmt) -> Step | None:
        if isinstance(stmt, s.LetStmt):
            return self._let(stmt)
        if isinstance(stmt, s.AttrStmt):
            return self._attribute(stmt)
        if isinstance(stmt, s.AssertStmt):
            return self._assert(stmt)
        if isinstance(stmt, s.Allocate):
            return self._allocate(stmt)
        if isinstance(stmt, s.AllocateConst):
            return self._constant(stmt)
        if isinstance(stmt, s.DeclBuffer):
            return self._declare(stmt.buffer)
        if isinstance(stmt, s.BufferRealize):
            return self._realize(stmt)
        return None

    def visit_let_stmt_(self, op: s.LetStmt) -> Step:
        return self._scoped(op)

    def visit_attr_stmt_(self, op: s.AttrStmt) -> Step:
        if op.attr_key in ("thread_extent", "virtual_thread"):
            return self.program.threads(self, op)
        return self._scoped(op)

    def visit_assert_stmt_(self, op: s.AssertStmt) -> Step:
        return self._scoped(op)

    def visit_allocate_(self, op: s.Allocate) -> Step:
        return self._scoped(op)

    def visit_allocate_const_(self, op: s.AllocateConst) -> Step:
        return self._scoped(op)

    def visit_decl_buffer_(self, op: s.DeclBuffer) -> Step:
        return self._scoped(op)

    def visit_buffer_realize_(self, op: s.BufferRealize) -> Step:
        return self._scoped(op)

    def _let(self, op: s.LetStmt) -> Step:
        value, slot = self.compile(op.value), self.layout.slot(op.var)
        stale, is_address = self._stale(op.var), op.var.dtype.is_handle

        def run(frame: Frame) -> None:
            new = value(frame)
            # a loaded vector is a view; the name stands for what was there now
            vector = isinstance(new, np.ndarray) and not is_address
            frame[slot] = new.copy() if vector else new
            for view in stale:
                frame[view] = None

        return run

    def _attribute(self, op: s.AttrStmt) -> Step | None:
        if op.attr_key in ("thread_extent", "virtual_thread"):
            return None
        if op.attr_key == "reduce_scope" and isinstance(op.node, e.CommReducer):
            self.reducer = op.node
        return lambda frame: None

    def _assert(self, op: s.AssertStmt) -> Step:
        condition, text = self.compile(op.condition), self.compile(op.message)

        def run(frame: Frame) -> None:
            if not condition(frame):
                raise AssertionFailed(f"Assert fail: {_words(text(frame))}")

        return run

    def _stale(self, var: e.Var) -> list[int]:
        """Slots of the views over a variable's memory; the list grows as more are met."""
        return self.layout.views.setdefault(var, [])

    def _allocate(self, op: s.Allocate) -> Step:
        slot, stale = self.layout.slot(op.buffer_var), self._stale(op.buffer_var)
        extents, dtype = [self.compile(x) for x in op.extents], op.dtype
        scope = storage_scope(op.buffer_var)

        def run(frame: Frame) -> None:
            count = 1
            for extent in extents:
                count *= int(extent(frame))
            frame[slot] = memory(op, scope, lambda: allocate(dtype, count))
            for view in stale:
                frame[view] = None

        return run

    def _constant(self, op: s.AllocateConst) -> Step:
        slot, stale = self.layout.slot(op.buffer_var), self._stale(op.buffer_var)
        data = self.program.constant(op)
        pointer = Pointer(np.array(data, numpy_dtype(op.dtype)).reshape(-1))

        def run(frame: Frame) -> None:
            frame[slot] = pointer
            for view in stale:
                frame[view] = None

        return run

    def _declare(self, buffer: Buffer) -> Step:
        slot = self.layout.slot(buffer)

        def run(frame: Frame) -> None:
            frame[slot] = None  # the view is made at the first access

        return run

    def _realize(self, op: s.BufferRealize) -> Step:
        return self.new_buffer(op.buffer)

    def new_buffer(self, buffer: Buffer) -> Step:
        """Memory of its own for a buffer."""
        data, slot = self.layout.slot(buffer.data), self.layout.slot(buffer)
        shape = [self.compile(extent) for extent in buffer.shape]
        strides = [self.compile(step) for step in buffer.checked_strides()]
        offset, dtype, name = self.compile(buffer.elem_offset), buffer.dtype, buffer.name
        stale, scope = self._stale(buffer.data), storage_scope(buffer.data)

        def run(frame: Frame) -> None:
            dims, steps = [int(x(frame)) for x in shape], [int(x(frame)) for x in strides]
            start = int(offset(frame))
            reach = sum((d - 1) * s for d, s in zip(dims, steps)) + 1 if steps else _product(dims)
            pointer = memory(buffer, scope, lambda: allocate(dtype, start + reach))
            for view in stale:
                frame[view] = None
            frame[data] = pointer
            frame[slot] = buffer_view(name, dtype, pointer, dims, steps, start)

        return run

    # --- sequence and choice ---

    def visit_seq_stmt_(self, op: s.SeqStmt) -> Step:
        steps = [self.compile_stmt(stmt) for stmt in op.seq]

        def run(frame: Frame) -> None:
            for step in steps:
                step(frame)

        return run

    def visit_evaluate_(self, op: s.Evaluate) -> Step:
        value = self.compile(op.value)

        def run(frame: Frame) -> None:
            value(frame)

        return run

    def visit_if_then_else_(self, op: s.IfThenElse) -> Step:
        condition, yes = self.compile(op.condition), self.compile_stmt(op.then_case)
        no = None if op.else_case is None else self.compile_stmt(op.else_case)

        def run(frame: Frame) -> None:
            if condition(frame):
                yes(frame)
            elif no is not None:
                no(frame)

        return run

    # --- loops ---

    def visit_for_(self, op: s.For) -> Step:
        if op.kind == s.ForKind.THREAD_BINDING:
            return self.program.threads(self, op)
        return compile_nest(self, op) or self.serial(op)

    def serial(self, op: s.For) -> Step:
        """The iterations one after the other."""
        return self.iterations(op, self.compile_stmt(op.body))

    def iterations(self, op: s.For, body: Step) -> Step:
        """A body for each number of a loop."""
        low, extent = self.compile(op.min), self.compile(op.extent)
        slot, kind = self.layout.slot(op.loop_var), numpy_dtype(op.loop_var.dtype)
        jumps = has_jumps(op.body)

        def run(frame: Frame) -> None:
            start = int(low(frame))
            for value in np.arange(start, start + int(extent(frame)), dtype=kind):
                frame[slot] = value
                body(frame)

        def run_with_jumps(frame: Frame) -> None:
            start = int(low(frame))
            for value in np.arange(start, start + int(extent(frame)), dtype=kind):
                frame[slot] = value
                try:
                    body(frame)
                except ContinueLoop:
                    continue
                except BreakLoop:
                    break

        return run_with_jumps if jumps else run

    def visit_while_(self, op: s.While) -> Step:
        condition, body = self.compile(op.condition), self.compile_stmt(op.body)

        def run(frame: Frame) -> None:
            while condition(frame):
                try:
                    body(frame)
                except ContinueLoop:
                    continue
                except BreakLoop:
                    break

        return run

    # --- stores ---

    def visit_buffer_store_(self, op: s.BufferStore) -> Step:
        if op.predicate is not None:
            return self._masked_store(op)
        view, indices = self.view(op.buffer), self.indices_in("store to", op)
        value, lanes = self.compile(op.value), op.buffer.dtype.lanes
        simple = not op.buffer.dtype.is_vector
        flat = not simple and op.value.dtype.lanes > lanes

        def run(frame: Frame) -> None:
            array, new = view(frame), value(frame)
            if simple:
                put(array, indices(frame, array), new)
            else:
                array[indices(frame, array)] = new.reshape(-1, lanes) if flat else new

        return run

    def _masked_store(self, op: s.BufferStore) -> Step:
        assert op.predicate is not None, "the caller looked"
        view, mask = self.view(op.buffer), self.compile(op.predicate)
        codes, value = [self.compile(i) for i in op.indices], self.compile(op.value)

        def run(frame: Frame) -> None:
            array, on = view(frame), np.atleast_1d(mask(frame))
            indices = masked_indices([code(frame) for code in codes], on)
            check_lanes("store to", op.buffer.name, indices, array, op.span)
            array[indices] = np.broadcast_to(value(frame), on.shape)[on]

        return run

    # --- blocks ---

    def visit_block_realize_(self, op: s.BlockRealize) -> Step:
        block = op.block
        values = [self.compile(value) for value in op.iter_values]
        slots = [self.layout.slot(iv.var) for iv in block.iter_vars]
        predicate = None if _is_true(op.predicate) else self.compile(op.predicate)
        body = self.visit_block_(block)

        def run(frame: Frame) -> None:
            if predicate is not None and not predicate(frame):
                return
            for slot, value in zip(slots, [code(frame) for code in values]):
                frame[slot] = value
            body(frame)

        return run

    def visit_block_(self, op: s.Block) -> Step:
        steps = [self.new_buffer(buffer) for buffer in op.alloc_buffers]
        steps += [self._match(match) for match in op.match_buffers]
        if op.init is not None:
            steps.append(self._init(op))
        steps.append(self.compile_stmt(op.body))

        def run(frame: Frame) -> None:
            for step in steps:
                step(frame)

        return steps[0] if len(steps) == 1 else run

    def _init(self, op: s.Block) -> Step:
        """The init statement runs at the first step of the reduction."""
        assert op.init is not None, "the caller looked"
        first, init = self.first_step(op), self.compile_stmt(op.init)

        def run(frame: Frame) -> None:
            if first(frame):
                init(frame)

        return run

    def first_step(self, op: s.Block) -> Code:
        """Whether all reducing variables are at the start of their range."""
        starts = [
            (self.layout.slot(iv.var), self.compile(iv.dom.min))
            for iv in op.iter_vars
            if iv.iter_type == e.IterVar.CommReduce and iv.dom is not None
        ]

        def run(frame: Frame) -> Any:
            result: Any = True
            for slot, low in starts:
                result = result & (frame[slot] == low(frame))
            return result

        return run

    def _match(self, match: s.MatchBufferRegion) -> Step:
        """A buffer over a region of another: its memory, and its symbols, from that region."""
        buffer, source = match.buffer, match.source
        view, data = self.view(source.buffer), self.layout.slot(buffer.data)
        lows = [self.compile(r.min) for r in source.region]
        extents = [self.compile(r.extent) for r in source.region]
        slot, base = self.layout.slot(buffer), self.layout.slot(source.buffer.data)
        source_offset, kind = self.compile(source.buffer.elem_offset), numpy_dtype(buffer.dtype)
        bind = self.program.binder(self, buffer)

        def run(frame: Frame) -> None:
            array = view(frame)
            starts = [int(x(frame)) for x in lows]
            sizes = [int(x(frame)) for x in extents]
            steps = element_strides(array)
            moved = sum(a * b for a, b in zip(starts, steps)) + int(source_offset(frame))
            pointer: Pointer = frame[base].typed(kind)
            drop = len(sizes) - len(buffer.shape)
            frame[data] = pointer
            frame[slot] = None
            bind(frame, sizes[drop:], steps[drop:], moved)
            part = array[tuple(slice(a, a + n) for a, n in zip(starts, sizes))]
            frame[slot] = part.reshape(part.shape[drop:]) if drop else part

        return run


def storage_scope(var: e.Var) -> str:
    """The scope of the memory that a variable points to."""
    return str(getattr(var.type_annotation, "storage_scope", ""))


def _product(dims: list[int]) -> int:
    total = 1
    for dim in dims:
        total *= dim
    return total


def _is_true(expr: PrimExpr) -> bool:
    return isinstance(expr, e.IntImm) and expr.value != 0


def has_jumps(stmt: s.Stmt) -> bool:
    """Whether a statement breaks or continues a loop around it."""
    return any(e.op_name(node) in JUMPS for node in walk(stmt))
