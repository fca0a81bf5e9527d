"""How a store goes through the buffers that it touches: bytes, cache lines, reuse, strides.

The figures are those of Ansor's appendix (Zheng et al., OSDI 2020).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import prod

from tvm.arith import Analyzer
from tvm.arith.pattern import linear_equation
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.buffer import Buffer
from tvm.tir.expr import Add, BufferLoad, FloorDiv, FloorMod, IntImm, Max, Min, Mul, Sub, Var
from tvm.tir.functor import StmtExprMutator, uses_var, walk
from tvm.tir.stmt import BufferStore, For

from .loop_nest import LoopNest

READ, WRITE, BOTH = range(3)
LOOP_REUSE, SERIAL_REUSE, NO_REUSE = range(3)

# What was touched below each loop so far: elements for each store, by buffer.
Touched = defaultdict[For, dict[Buffer, list[int]]]


class BufferAccess:
    """One buffer of a store."""

    def __init__(self, buffer: Buffer, kind: int) -> None:
        self.buffer = buffer
        self.kind = kind
        self.indices: list[Sequence[PrimExpr]] = []  # indices of each access
        self.elements: list[int] = []  # different ones touched below each loop
        self.bytes = self.unique_bytes = 0.0
        self.lines = self.unique_lines = 0.0
        self.stride = 0
        self.reuse = NO_REUSE
        self.reuse_iterations = self.reuse_bytes = 0.0
        self.reuse_count = 0
        self.shape: list[int] = []  # of all that is touched

    def numbers(self) -> list[float]:
        """The features, not yet on a logarithmic scale."""
        count = self.reuse_count or 0.5
        sizes = [self.bytes, self.unique_bytes, self.lines, self.unique_lines]
        return [
            *[float(self.kind == kind) for kind in (READ, WRITE, BOTH)],
            *sizes,
            *[float(self.reuse == kind) for kind in (LOOP_REUSE, SERIAL_REUSE, NO_REUSE)],
            self.reuse_iterations, self.reuse_bytes, self.reuse_count,
            *[size / count for size in sizes],
            self.stride,
        ]  # fmt: skip


def accesses_of(
    store: BufferStore, nest: LoopNest, line_bytes: int, touched: Touched
) -> tuple[list[BufferAccess], list[int]]:
    """The buffers of a store, those of most cache lines first; and the bytes below each loop.

    `touched` is what the stores before it touched; this one adds to it.
    """
    found = _collect(store)
    below = _touch(found, nest, touched)
    one = sum([_bytes(a.buffer) for a in found]) if nest.loops else 0
    for access in found:
        _measure(access, nest, line_bytes)
        _find_reuse(access, nest, one, touched)
    found.sort(key=lambda a: (-a.lines, -a.bytes, a.buffer.name))
    return found, below


def _collect(store: BufferStore) -> list[BufferAccess]:
    written = BufferAccess(store.buffer, WRITE)
    written.indices.append(store.indices)
    found = {store.buffer: written}
    for node in walk(store.value):
        if isinstance(node, BufferLoad):
            access = found.setdefault(node.buffer, BufferAccess(node.buffer, READ))
            if access.kind == READ:
                access.indices.append(node.indices)
            else:
                access.kind = BOTH  # the element that is updated
    return list(found.values())


def _touch(accesses: list[BufferAccess], nest: LoopNest, touched: Touched) -> list[int]:
    """Count what each loop touches of each buffer, from the inside."""
    ranges = {loop.loop_var: Range.from_min_extent(loop.min, 1) for loop in nest.loops}
    below = [0] * len(nest.loops)
    for access in accesses:
        access.elements = [0] * len(nest.loops)
        access.shape = _box(access.indices, ranges)
    for i, loop in reversed(list(enumerate(nest.loops))):
        ranges[loop.loop_var] = Range.from_min_extent(loop.min, loop.extent)
        for access in accesses:
            access.shape = _box(access.indices, ranges)
            access.elements[i] = max(0, prod(access.shape))
            below[i] += access.elements[i] * _bytes(access.buffer)
            touched[loop].setdefault(access.buffer, []).append(access.elements[i])
    return below


def _box(accesses: Sequence[Sequence[PrimExpr]], ranges: dict[Var, Range]) -> list[int]:
    """The extents of the smallest box around all indices."""
    analyzer = Analyzer()
    for var, rng in ranges.items():
        analyzer.bind(var, rng)
    extents = []
    for indices in zip(*accesses):
        fixed = [_WrappedAsPoints(analyzer).visit_expr(analyzer.simplify(i)) for i in indices]
        bounds = [analyzer.const_int_bound(index) for index in fixed]
        low, high = min(b.min_value for b in bounds), max(b.max_value for b in bounds)
        extents.append(high - low + 1 if abs(low) < _UNKNOWN and abs(high) < _UNKNOWN else 1)
    return extents


_UNKNOWN = 1 << 60


class _WrappedAsPoints(StmtExprMutator):
    """Takes remainders that start over within the ranges for one element.

    What they reach depends on the way there: a box of the whole period would count what other
    loops go through.
    """

    def __init__(self, analyzer: Analyzer) -> None:
        super().__init__()
        self._analyzer = analyzer

    def visit_floor_mod_(self, op: FloorMod) -> PrimExpr:
        """Zero for a remainder of several periods."""
        if isinstance(op.b, IntImm) and op.b.value > 0:
            bound = self._analyzer.const_int_bound(op.a)
            if bound.min_value // op.b.value != bound.max_value // op.b.value:
                return IntImm(op.dtype, 0)
        return super().visit_floor_mod_(op)


def _bytes(buffer: Buffer) -> int:
    return int((buffer.dtype.bits * buffer.dtype.lanes + 7) // 8)


def _measure(access: BufferAccess, nest: LoopNest, line_bytes: int) -> None:
    size = _bytes(access.buffer)
    access.bytes = float(nest.iterations * size)
    if not nest.loops:
        access.unique_bytes = access.lines = access.unique_lines = 1.0
        return
    shape = [d.value if isinstance(d, IntImm) else 1 for d in access.buffer.shape]
    strides = [prod(shape[i + 1 :]) for i in range(len(shape))]
    stride, inside = 0, 1
    for depth, loop in enumerate(reversed(nest.loops)):
        stride = min(_stride(indices, strides, loop.loop_var) for indices in access.indices)
        if stride:
            access.stride = stride if depth == 0 else 0
            break
        inside *= nest.extents[len(nest.loops) - 1 - depth]
    whole = [e for e, t in zip(reversed(shape), reversed(access.shape)) if e == t]
    contiguous = whole[0] * size if whole else 1
    access.unique_bytes = float(max(0, prod(access.shape)) * size)
    share = min(1.0, stride * size / line_bytes)
    access.lines = max(1.0, nest.iterations / inside * share)
    access.unique_lines = max(1.0, access.unique_bytes / min(line_bytes, contiguous))


def _stride(indices: Sequence[PrimExpr], strides: Sequence[int], var: Var) -> int:
    """How many elements further the access is in the next iteration."""
    for index, stride in zip(reversed(indices), reversed(strides)):
        if not uses_var(index, var):
            continue
        linear = linear_equation(index, [var])
        if not linear:
            return min(_factors(index, var)) * stride
        if isinstance(linear[0], IntImm) and linear[0].value:
            return abs(linear[0].value) * stride
    return 0


def _factors(index: PrimExpr, var: Var) -> list[int]:
    """What the parts of an index that is not linear are multiplied by; 1 if by nothing."""
    found: list[int] = []
    parts = [index]
    while parts:
        part = parts.pop()
        if isinstance(part, Mul) and isinstance(part.b, IntImm):
            found.extend([abs(part.b.value)] if uses_var(part, var) else [])
        elif isinstance(part, (Add, Sub, Mul, FloorDiv, FloorMod, Min, Max)):
            parts += [part.a, part.b]
    return found or [1]


def _find_reuse(access: BufferAccess, nest: LoopNest, one: int, touched: Touched) -> None:
    """The innermost loop in which the buffer is used again, and what happens in between."""
    used = {part for indices in access.indices for index in indices for part in walk(index)}
    extents = nest.extents
    for i in range(len(nest.loops) - 1, -1, -1):
        loop = nest.loops[i]
        if loop.loop_var not in used:
            access.reuse, access.reuse_count = LOOP_REUSE, extents[i]
            access.reuse_iterations = float(prod(extents[i + 1 :]))
            inner = nest.loops[i + 1] if i + 1 < len(nest.loops) else None
            access.reuse_bytes = float(one if inner is None else _all_bytes(touched[inner]))
            return
        times = touched[loop][access.buffer]
        if len(times) > 1:
            access.reuse, access.reuse_count = SERIAL_REUSE, len(times) - 1
            access.reuse_iterations = min(times) / extents[i]
            access.reuse_bytes = _all_bytes(touched[loop]) / extents[i]
            return


def _all_bytes(touched: dict[Buffer, list[int]]) -> int:
    return sum([sum(times) * _bytes(buffer) for buffer, times in touched.items()])
