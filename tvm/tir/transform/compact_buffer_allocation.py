"""Buffers are as large as the part of them that is used where they are allocated.

    for i in range(16):                        for i in range(16):
        B = T.alloc_buffer((16, 16))               B = T.alloc_buffer((1, 16))
        for j in range(16):             ->         for j in range(16):
            B[i, j] = A[i, j] + 1                      B[0, j] = A[i, j] + 1

With `is_strict`, no dimension grows. Buffers that `buffer_dim_align` names get strides. Memory that
no block allocates is treated alike where one buffer alone is all that lies in it. A pointer to a
buffer reaches what the block around says; that part must not move.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tvm.arith.analyzer import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, StmtExprVisitor, walk
from tvm.tir.op import arith as ops

from .analyzed_mutator import as_fact, assume_sizes, bare_condition
from .index_bounds import Bounds, IndexBounds
from .lower_opaque_block import extents_of
from .pass_form import tir_pass

_MANY: Final = 1 << 16  # a bound as high says what the type of an index holds, and nothing else


@tir_pass("tir.CompactBufferAllocation")
def CompactBufferAllocation(
    func: PrimFunc, mod: IRModule, ctx: PassContext, is_strict: bool = True
) -> PrimFunc:
    """Allocated buffers have no element that is never used, as far as can be proved."""
    uses = _Uses(_only_buffers(func.body), _never_written(func))
    assume_sizes(uses.analyzer, func)
    uses.visit_stmt(func.body)
    compacted = {}
    for buffer, use in uses.of.items():
        found = _Compacted.make(buffer, use, uses.aligned.get(buffer, []), is_strict)
        if found is not None:
            compacted[buffer] = found
    if not compacted:
        return func
    return func.with_body(_Compactor(compacted, uses.analyzer).visit_stmt(func.body))


class _Use:
    """The box of a buffer that is used: bounds by dimension, None where nothing is known."""

    def __init__(
        self, depth: int, analyzer: Analyzer, threads: Sequence[tuple[e.Var, Range | None]] = ()
    ) -> None:
        self.depth = depth  # the number of loops around the allocation
        self.threads = threads  # loops around the allocation whose iterations share the memory
        self.box: list[Bounds | None] | None = None
        self.analyzer = analyzer
        self.opaque = False
        self.by_address = False  # within a region that a block declares

    def add(self, box: Sequence[Bounds | None]) -> None:
        """Let the box cover another one too."""
        if self.box is None:
            self.box = list(box)
            return
        self.box = [self._cover(a, b) for a, b in zip(self.box, box)]

    def _cover(self, a: Bounds | None, b: Bounds | None) -> Bounds | None:
        if a is None or b is None:
            return None
        low, high = self._first(a[0], b[0]), self._first(b[1], a[1])
        return None if low is None or high is None else (low, b[1] if high is a[1] else a[1])

    def _first(self, a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
        """The smaller one, if that can be told."""
        if a is b or self.analyzer.can_prove(ops.less_equal(a, b)):
            return a
        return b if self.analyzer.can_prove(ops.less_equal(b, a)) else None


class _Uses(StmtExprVisitor):
    """Collects the used boxes, in terms of the loops around each allocation."""

    def __init__(self, alone: dict[e.Var, Buffer], constant: frozenset[e.Var]) -> None:
        super().__init__()
        self._alone = alone
        self._constant = constant
        self.of: dict[Buffer, _Use] = {}
        self.aligned: dict[Buffer, list[tuple[int, int, int]]] = {}
        self.analyzer = Analyzer()
        self._loops: list[tuple[e.Var, Range | None]] = []
        self._threads: list[tuple[str, e.Var, Range]] = []  # loops of these that are bound
        self._by_data: dict[e.Var, Buffer] = {}
        self._declared: list[s.BufferRegion] = []  # by the block around
        self._facts: list[PrimExpr] = []  # comparisons that hold at this statement

    def _under(self, condition: PrimExpr, visit: Callable[[], None]) -> None:
        """Visit something that is looked at only where the condition holds."""
        count = len(self._facts)
        stack = [as_fact(condition)]
        while stack:
            node = bare_condition(stack.pop())
            if isinstance(node, e.And):
                stack += (node.a, node.b)
            elif isinstance(node, e.Not):
                stack.append(_opposite(node.a))
            elif isinstance(node, e.NE):  # at the end of a range it is a limit
                self._facts.append(self.analyzer.simplify(node))
            else:
                self._facts.append(node)
        visit()
        del self._facts[count:]

    def visit_if_then_else_(self, op: s.IfThenElse) -> None:
        self.visit_expr(op.condition)
        self._under(op.condition, lambda: self.visit_stmt(op.then_case))
        otherwise = op.else_case
        if otherwise is not None:
            self._under(_opposite(op.condition), lambda: self.visit_stmt(otherwise))

    def visit_block_realize_(self, op: s.BlockRealize) -> None:
        self.visit_exprs(op.iter_values)
        self.visit_expr(op.predicate)
        self._under(op.predicate, lambda: self.visit_stmt(op.block))

    def visit_for_(self, op: s.For) -> None:
        dom = Range.from_min_extent(op.min, op.extent)
        self._loops.append((op.loop_var, dom))
        binding = op.thread_binding
        if binding is not None:
            self._threads.append((binding.thread_tag, op.loop_var, dom))
        self.analyzer.bind(op.loop_var, dom, allow_override=True)
        super().visit_for_(op)
        self._loops.pop()
        if binding is not None:
            self._threads.pop()

    def visit_attr_stmt_(self, op: s.AttrStmt) -> None:
        axis = op.node
        if op.attr_key not in ("thread_extent", "virtual_thread") or not (
            isinstance(axis, e.IterVar)
        ):  # fmt: skip
            super().visit_attr_stmt_(op)
            return
        self.visit_expr(op.value)
        dom = Range.from_min_extent(ops.const(0, axis.var.dtype), op.value)
        self._loops.append((axis.var, dom))
        self._threads.append((axis.thread_tag, axis.var, dom))
        self.analyzer.bind(axis.var, dom, allow_override=True)
        self.visit_stmt(op.body)
        self._loops.pop()
        self._threads.pop()

    def _allocated(self, buffer: Buffer) -> None:
        self.of[buffer] = _Use(len(self._loops), self.analyzer, self._sharing(buffer))
        self._by_data[buffer.data] = buffer

    def visit_allocate_(self, op: s.Allocate) -> None:
        self.visit_exprs(op.extents)
        self.visit_expr(op.condition)
        buffer = self._alone.get(op.buffer_var)
        if buffer is not None and buffer.dtype is op.dtype:
            self._allocated(buffer)
            for item in _alignments(op):
                self.aligned.setdefault(buffer, []).append(item[1:])
        self.visit_stmt(op.body)

    def _sharing(self, buffer: Buffer) -> list[tuple[e.Var, Range | None]]:
        """The threads around an allocation that have its memory in common."""
        scope = buffer.scope()
        if scope == "warp":  # each lane holds a part of it
            return [(var, dom) for tag, var, dom in self._threads if tag == "threadIdx.x"]
        if not (scope.startswith("shared") or scope in ("", "global")):
            return []
        return [
            (var, dom) for tag, var, dom in self._threads
            if not scope.startswith("shared") or tag.startswith(("threadIdx", "vthread"))
        ]  # fmt: skip

    def visit_let_stmt_(self, op: s.LetStmt) -> None:
        # a name for a value that changes inside varies like a loop variable, in no known range
        self.visit_expr(op.value)
        self._loops.append((op.var, None))
        self.visit_stmt(op.body)
        self._loops.pop()

    def visit_block_(self, op: s.Block) -> None:
        for buffer in op.alloc_buffers:
            self._allocated(buffer)
        for item in _alignments(op):
            number, axis, factor, offset = item
            if number < len(op.writes):
                buffer = op.writes[number].buffer
                self.aligned.setdefault(buffer, []).append((axis, factor, offset))
        for match in op.match_buffers:
            self._use_region(match.source)
        around, self._declared = self._declared, [*op.reads, *op.writes]
        if op.init is not None:
            self.visit_stmt(op.init)
        self.visit_stmt(op.body)
        self._declared = around

    def _use_region(self, region: s.BufferRegion) -> None:
        use = self.of.get(region.buffer)
        if use is None:
            return
        bounds = self._bounds(use)
        box: list[Bounds | None] = []
        for rng in region.region:
            low = bounds.of(rng.min, self._facts)
            high = bounds.of(ops.subtract(ops.add(rng.min, rng.extent), 1), self._facts)
            box.append(None if low is None or high is None else (low[0], high[1]))
        use.add(box)

    def _bounds(self, use: _Use) -> IndexBounds:
        running = dict([*use.threads, *self._loops[use.depth :]])
        return IndexBounds(running, self.analyzer, self._constant)

    def _use_element(self, buffer: Buffer, indices: Sequence[PrimExpr]) -> None:
        use = self.of.get(buffer)
        if use is not None:
            bounds = self._bounds(use)
            use.add([bounds.of(index, self._facts) for index in indices])

    def visit_buffer_load_(self, op: e.BufferLoad) -> None:
        self._use_element(op.buffer, op.indices)
        super().visit_buffer_load_(op)

    def visit_buffer_store_(self, op: s.BufferStore) -> None:
        self._use_element(op.buffer, op.indices)
        super().visit_buffer_store_(op)

    def visit_var_(self, op: e.Var) -> None:
        buffer = self._by_data.get(op)
        if buffer is None:
            return
        declared = [region for region in self._declared if region.buffer is buffer]
        for region in declared:
            self._use_region(region)
        if declared:
            self.of[buffer].by_address = True
        else:
            self.of[buffer].opaque = True  # an address: who knows what is done with it

    def visit_call_(self, op: e.Call) -> None:
        name = e.op_name(op)
        if name == "tir.if_then_else":
            condition, a, b = op.args
            self.visit_expr(condition)
            self._under(condition, lambda: self.visit_expr(a))
            self._under(_opposite(condition), lambda: self.visit_expr(b))
            return
        if name == "tir.address_of" and isinstance(op.args[0], e.BufferLoad):
            use = self.of.get(op.args[0].buffer)
            if use is not None:
                use.opaque = True
        super().visit_call_(op)


def _only_buffers(body: s.Stmt) -> dict[e.Var, Buffer]:
    """The buffers that are the only ones over their memory."""
    found: dict[e.Var, dict[Buffer, None]] = {}
    for node in walk(body):
        if isinstance(node, (s.DeclBuffer, s.BufferStore, e.BufferLoad, s.BufferRegion)):
            found.setdefault(node.buffer.data, {})[node.buffer] = None
    return {data: next(iter(buffers)) for data, buffers in found.items() if len(buffers) == 1}


def _never_written(func: PrimFunc) -> frozenset[e.Var]:
    """The memory of parameters that the function reads by elements, and does nothing else with.

    Without `tir.noalias`, a parameter of the same type that is written may be the same memory.
    """
    given = {buffer.data: buffer.dtype for buffer in func.buffer_map.values()}
    found, written = set(given), set()
    for node in walk(func.body):
        if isinstance(node, s.BufferStore):
            found.discard(node.buffer.data)
            written.add(given.get(node.buffer.data))
        elif isinstance(node, s.Block):
            found.difference_update(match.source.buffer.data for match in node.match_buffers)
        elif isinstance(node, e.Var) and node in given:  # the pointer itself
            found.discard(node)
            written.add(given[node])
    if func.attrs.get("tir.noalias", False):
        return frozenset(found)
    return frozenset(data for data in found if given[data] not in written)


def _keeps_offsets(
    starts: Sequence[PrimExpr | None], shape: Sequence[PrimExpr], buffer: Buffer
) -> bool:
    """The compact buffer has the offsets of the old one: only its end is cut off."""
    at_begin = all(start is None or ops.is_zero(start) for start in starts)
    return at_begin and all(new is old for new, old in zip(shape[1:], buffer.shape[1:]))


def _opposite(condition: PrimExpr) -> PrimExpr:
    """The comparisons that hold where the condition does not; of others nothing is known."""
    bare = as_fact(condition)
    if isinstance(bare, e.Not):
        return bare.a
    if isinstance(bare, e.Or):
        return ops.logical_and(_opposite(bare.a), _opposite(bare.b))
    kind = _OPPOSITES.get(type(bare))
    if kind is None or not isinstance(bare, e.CmpExpr):
        return ops.const(True, "bool")
    return kind(bare.a, bare.b)


_OPPOSITES: Final[dict[type, type[e.CmpExpr]]] = {
    e.LT: e.GE, e.GE: e.LT, e.GT: e.LE, e.LE: e.GT, e.EQ: e.NE, e.NE: e.EQ,
}  # fmt: skip


def _alignments(block: s.Block | s.Allocate) -> list[tuple[int, int, int, int]]:
    """`buffer_dim_align`: number of the written buffer, axis, factor, offset."""
    found: Any = block.annotations.get("buffer_dim_align", ())
    return [tuple(int(x) for x in item) for item in found]  # type: ignore[misc]


class _Compacted:
    """A smaller buffer, and where its first element lies in the old one."""

    def __init__(self, buffer: Buffer, starts: list[PrimExpr | None]) -> None:
        self.buffer = buffer
        self.starts = starts

    @staticmethod
    def make(
        buffer: Buffer, use: _Use, aligned: list[tuple[int, int, int]], is_strict: bool
    ) -> _Compacted | None:
        """The compacted form; None where the buffer is to stay."""
        if use.opaque or use.box is None or buffer.strides or not ops.is_zero(buffer.elem_offset):
            return None
        starts: list[PrimExpr | None] = []
        shape: list[PrimExpr] = []
        for extent, bounds in zip(buffer.shape, use.box):
            start, size = _shrunk(extent, bounds, use.analyzer, is_strict)
            starts.append(start)
            shape.append(size)
        if use.by_address and not _keeps_offsets(starts, shape, buffer):
            return None
        strides = _aligned_strides(shape, aligned)
        if not strides and all(start is None for start in starts):
            return None
        return _Compacted(buffer.with_changes(shape=tuple(shape), strides=strides), starts)


def _shrunk(
    extent: PrimExpr, bounds: Bounds | None, analyzer: Analyzer, is_strict: bool
) -> tuple[PrimExpr | None, PrimExpr]:
    """The first index and the number of those in use; (None, extent) where nothing is gained."""
    if bounds is None:
        return None, extent
    low, high = bounds
    size = analyzer.simplify(ops.add(ops.subtract(high, low), 1))
    if not isinstance(size, e.IntImm):
        limit = analyzer.const_int_bound(size).max_value
        if isinstance(extent, e.IntImm):
            gained = limit <= extent.value
        else:  # nothing compares the two: a number is better than either
            gained = limit < _MANY and not analyzer.can_prove(ops.less_equal(size, extent))
        if gained:
            size = ops.const(limit, extent.dtype)
    size = ops.cast(size, extent.dtype)
    # a constant that no use exceeds is no more than an extent that all uses keep to
    constant = isinstance(size, e.IntImm) and not isinstance(extent, e.IntImm)
    smaller = constant or analyzer.can_prove(ops.less_equal(size, extent))
    if is_strict and not smaller:
        return None, extent
    if ops.is_zero(low) and analyzer.can_prove_equal(size, extent):
        return None, extent
    if analyzer.can_prove_equal(size, extent):
        return None, extent  # moved, but no smaller
    return analyzer.simplify(ops.max_of(0, low)) if is_strict else low, size


def _aligned_strides(
    shape: list[PrimExpr], aligned: list[tuple[int, int, int]]
) -> tuple[PrimExpr, ...]:
    """Strides with stride[axis] % factor == offset where a block asks for it."""
    if not aligned:
        return ()
    wanted = {axis % len(shape): (factor, offset) for axis, factor, offset in aligned}
    strides: list[PrimExpr] = []
    stride: PrimExpr = ops.const(1, shape[0].dtype)
    for axis in range(len(shape) - 1, -1, -1):
        if axis in wanted:
            factor, offset = wanted[axis]
            missing = ops.subtract(ops.add(offset, factor), ops.floormod(stride, factor))
            stride = ops.add(stride, ops.floormod(missing, factor))
        strides.append(stride)
        stride = ops.multiply(stride, shape[axis])
    return tuple(reversed(strides))


class _Compactor(StmtExprMutator):
    def __init__(self, compacted: dict[Buffer, _Compacted], analyzer: Analyzer) -> None:
        super().__init__()
        self._compacted = compacted
        self._by_data = {buffer.data: found.buffer for buffer, found in compacted.items()}
        self._analyzer = analyzer

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        new = super().visit_allocate_(op)
        buffer = self._by_data.get(op.buffer_var)
        if buffer is None or not isinstance(new, s.Allocate):
            return new
        return s.Allocate(
            new.buffer_var, new.dtype, extents_of(buffer), new.condition, new.body,
            new.annotations, new.span,
        )  # fmt: skip

    def visit_buffer_use(self, buffer: Buffer) -> Buffer:
        found = self._compacted.get(buffer)
        return buffer if found is None else found.buffer

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        return self.visit_buffer_use(buffer)

    def _moved(self, found: _Compacted, indices: tuple[PrimExpr, ...]) -> list[PrimExpr]:
        return [
            index if start is None else self._minus(index, start)
            for index, start in zip(indices, found.starts)
        ]

    def _minus(self, index: PrimExpr, start: PrimExpr) -> PrimExpr:
        return index if ops.is_zero(start) else ops.subtract(index, start)

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        load = super().visit_buffer_load_(op)
        found = self._compacted.get(op.buffer)
        if found is None or not isinstance(load, e.BufferLoad):
            return load
        indices = self._moved(found, load.indices)
        return e.BufferLoad(found.buffer, indices, load.predicate, load.span)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        store = super().visit_buffer_store_(op)
        found = self._compacted.get(op.buffer)
        if found is None or not isinstance(store, s.BufferStore):
            return store
        indices = self._moved(found, store.indices)
        return s.BufferStore(found.buffer, store.value, indices, store.predicate, store.span)

    def visit_region(self, region: s.BufferRegion) -> s.BufferRegion:
        found = self._compacted.get(region.buffer)
        if found is None:
            return super().visit_region(region)
        ranges = []
        for rng, start, extent in zip(region.region, found.starts, found.buffer.shape):
            if start is None:
                ranges.append(rng)
                continue
            low = self._minus(rng.min, start)
            size = ops.min_of(rng.extent, ops.cast(extent, rng.extent.dtype))
            ranges.append(Range.from_min_extent(low, self._analyzer.simplify(size)))
        return s.BufferRegion(found.buffer, ranges)
