"""Which parts of which buffers a block reads and writes.

The regions are in terms of the block's own iteration variables and of what stands outside; loops
inside of the block are widened to their whole range. A block within the block counts by what it
says of itself, in the values it is given. A buffer whose address is taken counts as used in an
opaque way, and what is touched through a view counts for the buffer that is viewed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from tvm.ir.expr import PrimExpr, Range
from tvm.support.arguments import explained
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.functor import StmtExprVisitor, expr_children, substitute
from tvm.tir.op import arith as ops

Regions = list[s.BufferRegion]


@explained
def get_block_access_region(
    block: s.Block, buffer_var_map: Mapping[e.Var, Buffer]
) -> tuple[Regions, Regions, Regions]:
    """What the block reads, writes, and uses in an opaque way: one region a buffer.

    `buffer_var_map` gives the buffers in scope by their data variables; others are of no interest.
    The accumulator of a reduction (a block with init) counts as written only. An access pointer is
    a read or a write of the whole buffer where its mask says so; one for both is opaque.
    """
    return _regions(block, _OneWayDetector(buffer_var_map))


def get_block_accesses(
    block: s.Block, buffer_var_map: Mapping[e.Var, Buffer], changing: Collection[Buffer] = ()
) -> tuple[Regions, Regions, Regions]:
    """The same, with access pointers read and written as their masks say.

    An index that is read from a `changing` buffer may be any.
    """
    return _regions(block, _MaskDetector(buffer_var_map, changing))


def _regions(block: s.Block, detector: _Detector) -> tuple[Regions, Regions, Regions]:
    detector.enter(block)
    writes = detector.writes.regions()
    own = {region.buffer for region in writes} if block.init is not None else set()
    reads = [region for region in detector.reads.regions() if region.buffer not in own]
    return reads, writes, detector.opaque.regions()


@explained
def get_block_read_write_region(
    block: s.Block, buffer_var_map: Mapping[e.Var, Buffer]
) -> tuple[Regions, Regions]:
    """What the block reads and writes; opaque uses count as both, access pointers as they say."""
    reads, writes, opaque = get_block_accesses(block, buffer_var_map)
    return [*reads, *opaque], [*writes, *opaque]


class _Touched:
    """Regions by buffer in the order in which the buffers were first met."""

    def __init__(self) -> None:
        self._boxes: dict[Buffer, list[tuple[PrimExpr, PrimExpr]]] = {}

    def add(self, buffer: Buffer, box: list[tuple[PrimExpr, PrimExpr]]) -> None:
        """Widen what is known of the buffer by a box of (lowest, highest) indices."""
        known = self._boxes.get(buffer)
        if known is None:
            self._boxes[buffer] = box
        else:
            self._boxes[buffer] = [
                (_lower(a[0], b[0]), _upper(a[1], b[1])) for a, b in zip(known, box)
            ]

    def regions(self) -> Regions:
        return [
            s.BufferRegion(buffer, [_range(low, high) for low, high in box])
            for buffer, box in self._boxes.items()
        ]


def _lower(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return a if _same(a, b) else _simplified(ops.min_of(a, b))


def _upper(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return a if _same(a, b) else _simplified(ops.max_of(a, b))


def _bounded(low: PrimExpr, high: PrimExpr, extent: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
    """The box along one axis; the whole axis where the index may be anything.

    The whole begins at a zero of 32 bits, whatever the axis counts in.
    """
    if low.dtype.is_handle or high.dtype.is_handle:  # infinity, as interval sets write it
        return ops.const(0, "int32"), ops.subtract(extent, ops.const(1, extent.dtype))
    return low, high


def _same(a: PrimExpr, b: PrimExpr) -> bool:
    from tvm.arith.deep_equal import deep_equal

    return a is b or deep_equal(a, b)


def _simplified(expr: PrimExpr) -> PrimExpr:
    from tvm.arith.analyzer import Analyzer

    return Analyzer().simplify(expr)


def _range(low: PrimExpr, high: PrimExpr) -> Range:
    if low is high or _same(low, high):
        return Range.from_min_extent(low, ops.const(1, low.dtype))
    extent = _simplified(ops.add(ops.subtract(high, low), ops.const(1, low.dtype)))
    return Range.from_min_extent(low, extent)


class _Detector(StmtExprVisitor):
    def __init__(
        self, buffer_var_map: Mapping[e.Var, Buffer], changing: Collection[Buffer] = ()
    ) -> None:
        super().__init__()
        self._known = dict(buffer_var_map)
        self._changing = changing
        self._local: set[Buffer] = set()
        self._loops: dict[e.Var, Range] = {}
        self._lets: dict[e.Var, PrimExpr] = {}
        self._views: dict[e.Var, s.MatchBufferRegion] = {}
        self.reads, self.writes, self.opaque = _Touched(), _Touched(), _Touched()

    def enter(self, block: s.Block) -> None:
        """Look into the block whose regions are asked for."""
        for match in block.match_buffers:
            if match.source.buffer.data in self._known:
                self._views[match.buffer.data] = match
                self._known[match.buffer.data] = match.buffer
            else:
                self._known.pop(match.buffer.data, None)
        self._local.update(block.alloc_buffers)
        if block.init is not None:
            self.visit_stmt(block.init)
        self.visit_stmt(block.body)

    # --- uses ---

    def _box(self, indices: Sequence[PrimExpr]) -> list[tuple[PrimExpr, PrimExpr]]:
        box = []
        for index in indices:
            value = substitute(index, self._lets) if self._lets else index
            if isinstance(value, e.Ramp):
                last = ops.subtract(value.lanes, 1)
                low = self._span(value.base, value.base)
                end = ops.add(value.base, ops.multiply(value.stride, last))
                box.append((low[0], self._span(end, end)[1]))
            else:
                box.append(self._span(value, value))
        return box

    def _span(self, low: PrimExpr, high: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        """The lowest and highest value over the loops inside of the block."""
        from tvm.arith.int_set import IntervalSet, eval_set, neg_inf, pos_inf

        if _reads_from(low, self._changing) or _reads_from(high, self._changing):
            return neg_inf(), pos_inf()
        if not self._loops and not _chooses(low) and not _chooses(high):
            return low, high

        domains = {var: IntervalSet.of_range(rng) for var, rng in self._loops.items()}
        lowest, highest = eval_set(low, domains), eval_set(high, domains)
        return lowest.min_value, highest.max_value

    def _touch(self, where: _Touched, buffer: Buffer, box: list[tuple[PrimExpr, PrimExpr]]) -> None:
        if buffer.data not in self._known or buffer in self._local:
            return
        box = [_bounded(*b, n) for b, n in zip(box, buffer.shape)]
        view = self._views.get(buffer.data)
        if view is None:
            where.add(buffer, box)
        else:
            self._touch(where, view.source.buffer, self._seen_through(view.source, box))

    def _seen_through(
        self, source: s.BufferRegion, box: list[tuple[PrimExpr, PrimExpr]]
    ) -> list[tuple[PrimExpr, PrimExpr]]:
        """The box of a view's indices as one of the buffer that it views."""
        left_out = len(source.region) - len(box)
        first, rest = source.region[:left_out], source.region[left_out:]
        starts = [self._span(rng.min, rng.min) for rng in first]
        moved = [
            self._span(
                _simplified(ops.add(rng.min, low)), _simplified(ops.add(rng.min, high))
            )
            for rng, (low, high) in zip(rest, box)
        ]
        return [*starts, *moved]

    def visit_buffer_load_(self, op: e.BufferLoad) -> None:
        self._touch(self.reads, op.buffer, self._box(op.indices))
        self.visit_exprs(op.indices)
        if op.predicate is not None:
            self.visit_expr(op.predicate)

    def visit_buffer_store_(self, op: s.BufferStore) -> None:
        self.visit_expr(op.value)
        self.visit_exprs(op.indices)
        self._touch(self.writes, op.buffer, self._box(op.indices))

    def visit_var_(self, op: e.Var) -> None:
        """A data variable on its own: the callee may do anything with the memory."""
        buffer = self._known.get(op)
        if buffer is not None:
            self._touch(self.opaque, buffer, _whole(buffer))

    # --- scopes ---

    def visit_for_(self, op: s.For) -> None:
        self._loops[op.loop_var] = Range.from_min_extent(op.min, op.extent)
        self.visit_expr(op.min)
        self.visit_expr(op.extent)
        self.visit_stmt(op.body)
        del self._loops[op.loop_var]

    def visit_let_stmt_(self, op: s.LetStmt) -> None:
        self.visit_expr(op.value)
        self._lets[op.var] = substitute(op.value, self._lets) if self._lets else op.value
        self.visit_stmt(op.body)
        del self._lets[op.var]

    def visit_block_realize_(self, op: s.BlockRealize) -> None:
        """An inner block by its own regions, in the values that it is given here."""
        self.visit_exprs(op.iter_values)
        values = {iv.var: value for iv, value in zip(op.block.iter_vars, op.iter_values)}
        for where, regions in ((self.reads, op.block.reads), (self.writes, op.block.writes)):
            for region in regions:
                box = []
                for rng in region.region:
                    low = substitute(rng.min, values)
                    last = ops.subtract(
                        ops.add(low, substitute(rng.extent, values)), ops.const(1, low.dtype)
                    )
                    lowest, highest = self._box([low])[0], self._box([last])[0]
                    point = _is_point(rng) and not self._loops
                    box.append((lowest[0], low if point else highest[1]))
                self._touch(where, region.buffer, box)


class _MaskDetector(_Detector):
    """Takes access pointers at their word."""

    def visit_call_(self, op: e.Call) -> None:
        if not e.is_call_of(op, "tir.tvm_access_ptr"):
            super().visit_call_(op)
            return
        data, mask = op.args[1], op.args[4]
        buffer = self._known.get(data) if isinstance(data, e.Var) else None
        self.visit_exprs((op.args[2], op.args[3]))
        if buffer is not None and isinstance(mask, e.IntImm):
            for touched in self._meant(mask.value & (Buffer.READ | Buffer.WRITE)):
                self._touch(touched, buffer, _whole(buffer))

    def _meant(self, mask: int) -> list[_Touched]:
        ways = ((Buffer.READ, self.reads), (Buffer.WRITE, self.writes))
        return [touched for way, touched in ways if mask & way]


class _OneWayDetector(_MaskDetector):
    """Does not tell what is read from what is written through a pointer for both."""

    def _meant(self, mask: int) -> list[_Touched]:
        return [self.opaque] if mask == Buffer.READ | Buffer.WRITE else super()._meant(mask)


def _whole(buffer: Buffer) -> list[tuple[PrimExpr, PrimExpr]]:
    return [(ops.const(0, n.dtype), ops.subtract(n, 1)) for n in buffer.shape]


def _reads_from(index: PrimExpr, changing: Collection[Buffer]) -> bool:
    """True where the index is read from memory that is changing."""
    return bool(changing) and any(
        isinstance(part, e.BufferLoad) and part.buffer in changing for part in _parts(index)
    )


def _chooses(index: PrimExpr) -> bool:
    """True where the index is one of two, or what a call gives, or a float as an integer.

    An index that is read from memory as an integer is one element, wherever that is.
    """
    return any(
        isinstance(part, (e.Call, e.Select)) or part.dtype.is_floating for part in _parts(index)
    )


def _parts(index: PrimExpr) -> Iterator[PrimExpr]:
    """The index and what it is made of, but not where it is read from."""
    stack = [index]
    while stack:
        part = stack.pop()
        yield part
        if not isinstance(part, (e.BufferLoad, e.ProducerLoad)):
            stack.extend(expr_children(part))


def _is_point(rng: Range) -> bool:
    return ops.is_one(rng.extent)
