"""A quick look at many indices from data at once, which says whether one of them may be outside.

    highest[0:8] = max(highest[0:8], reinterpret("uint32x8", I[i*16 + 0 : i*16 + 4]))
    ...
    highest[0:8] = max(highest[0:8], [999, 0, 999, 0, ...]) ^ [999, 0, 999, 0, ...]
    (highest[0] | highest[1] | ...) > 0

Where the indices lie next to each other, they are compared as unsigned numbers of 32 bits, of which
every CPU with vectors finds the larger in one instruction. An index of 64 bits is two of them, and
its higher one has to be zero. So an instruction looks at four indices or at eight, which makes the
look cheap beside any use of them. Negative indices that count from the end have the extent added
before. Elsewhere bits are gathered that comparisons or signs leave.

No index that is outside passes. One that is inside may fail: what looks closely decides then.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Final

from tvm.arith.analyzer import Analyzer
from tvm.arith.pattern import linear_equation
from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis.deep_equal import expr_deep_equal
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.functor import walk
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin

MIN_LANES: Final = 8  # numbers of 32 bits
_MAX_LANES: Final = 32
_UNROLLED: Final = 16  # vectors
_SHORT: Final = 16  # indices
WORD: Final = "uint32"
_ZERO: Final = ops.const(0, "int32")
_ONE: Final = ops.const(1, WORD)


class Look:
    """The statements of a quick look: ahead of the loops, within, and behind; and what failed."""

    __slots__ = ("behind", "clear", "failed", "memory", "step", "whole")

    def __init__(
        self, clear: s.Stmt, step: s.Stmt, behind: s.Stmt, failed: PrimExpr,
        memory: Sequence[Buffer], whole: bool,
    ) -> None:  # fmt: skip
        self.clear: Final = clear
        self.step: Final = step
        self.behind: Final = behind
        self.failed: Final = failed
        self.memory: Final = tuple(memory)
        self.whole: Final = whole  # the step covers the innermost loop


def look(insides: Sequence[PrimExpr], loop: s.For | None, lanes: int) -> Look:
    """A look at what the conditions ask for; `loop` is the innermost one that they depend on.

    `lanes`: how many numbers of 32 bits an instruction compares.
    """
    found = None if loop is None else _by_vectors(insides, loop, lanes)
    return found or _by_bits(insides, loop)


# --- the larger of unsigned numbers ---


class _IndexRun:
    """Indices read from data with a stride: their first offset, and the bound of each."""

    __slots__ = ("base", "bound", "buffer", "shift", "stride")

    def __init__(
        self, buffer: Buffer, stride: int, base: PrimExpr, shift: PrimExpr | None, bound: PrimExpr
    ) -> None:
        self.buffer: Final = buffer
        self.stride: Final = stride
        self.base: Final = base
        self.shift: Final = shift
        self.bound: Final = bound

    def beside(self, other: _IndexRun) -> bool:
        """Both are parts of the same row of indices."""
        return (
            self.buffer is other.buffer
            and self.stride == other.stride
            and (self.shift is None) == (other.shift is None)
        )


def _by_vectors(insides: Sequence[PrimExpr], loop: s.For, lanes: int) -> Look | None:
    count = loop.extent.value if isinstance(loop.extent, e.IntImm) else 0
    rows: list[list[_IndexRun]] = []
    for inside in insides:
        run = _index_run(inside, loop)
        if run is None:
            return None
        row = next((row for row in rows if row[0].beside(run)), None)
        if row is None:
            rows.append([run])
        else:
            row.append(run)
    made = [_row(row, lanes, count) for row in rows]
    known = [row for row in made if row is not None]
    if len(known) < len(made):
        return None
    return Look(
        s.SeqStmt.flatten([row.clear for row in known]),
        s.SeqStmt.flatten([row.step for row in known]),
        s.SeqStmt.flatten([row.sift for row in known]),
        functools.reduce(ops.logical_or, [one for row in known for one in row.failed]),
        [row.highest for row in known],
        True,
    )


class _Row:
    """What finds the highest of a row of indices, and what remains of it above the bounds."""

    __slots__ = ("clear", "failed", "highest", "sift", "step")

    def __init__(
        self, highest: Buffer, clear: s.Stmt, step: s.Stmt, sift: s.Stmt, failed: list[PrimExpr]
    ) -> None:
        self.highest: Final = highest
        self.clear: Final = clear
        self.step: Final = step
        self.sift: Final = sift
        self.failed: Final = failed


def _row(row: list[_IndexRun], wanted: int, count: int) -> _Row | None:
    analyzer = Analyzer()
    first, stride = row[0], row[0].stride
    by_offset: dict[int, _IndexRun] = {}
    for run in row:
        apart = analyzer.simplify(ops.subtract(run.base, first.base))
        if not isinstance(apart, e.IntImm) or apart.value in by_offset:
            return None
        by_offset[apart.value] = run
    low = min(by_offset)
    if sorted(by_offset) != list(range(low, low + stride)):
        return None
    buffer = first.buffer
    per = buffer.dtype.bits // 32
    lanes = math.lcm(wanted, stride * per)
    while lanes > _MAX_LANES or count * stride * per % lanes:  # too few for the widest vectors
        lanes //= 2
        if lanes < MIN_LANES or lanes % (stride * per):
            return None
    if not count:
        return None
    flat = _flat(buffer)
    highest = decl_buffer((lanes,), WORD, "highest", scope="local")
    every = e.Ramp(_ZERO, ops.const(1, "int32"), lanes)
    none = e.Broadcast(ops.const(0, WORD), lanes)
    clear = s.BufferStore(highest, none, (every,))

    def step(vector: PrimExpr) -> s.Stmt:
        begin = ops.multiply(vector, ops.const(lanes // per, vector.dtype))
        index = e.Ramp(ops.add(by_offset[low].base, begin), ops.const(1, begin.dtype), lanes // per)
        value: PrimExpr = e.BufferLoad(flat, (index,))
        if first.shift is not None:
            unsigned = f"uint{buffer.dtype.bits}"
            shifts = [ops.cast(by_offset[low + k].shift, unsigned) for k in range(stride)]
            lane = [ops.const(k % stride, "int32") for k in range(lanes // per)]
            value = ops.add(ops.cast(value, f"{unsigned}x{lanes // per}"), e.Shuffle(shifts, lane))
        value = builtin.reinterpret(f"{WORD}x{lanes}", value)
        return s.BufferStore(highest, e.Max(e.BufferLoad(highest, (every,)), value), (every,))

    vectors = count * stride * per // lanes
    dtype = first.base.dtype
    if vectors <= _UNROLLED:
        steps = s.SeqStmt.flatten([step(ops.const(u, dtype)) for u in range(vectors)])
    else:
        u = e.Var("u", dtype)
        steps = s.For(u, ops.const(0, dtype), ops.const(vectors, dtype), s.ForKind.SERIAL, step(u))
    bounds = [by_offset[low + k].bound for k in range(stride)]
    limits = [ops.subtract(bound, _ONE) for bound in bounds]
    lane = [ops.const(k // per % stride if k % per == 0 else stride, "int32") for k in range(lanes)]
    limit = e.Shuffle([*limits, ops.const(0, WORD)], lane)
    above = ops.bitwise_xor(e.Max(e.BufferLoad(highest, (every,)), limit), limit)
    sift = s.BufferStore(highest, above, (every,))
    loads: list[PrimExpr] = [
        e.BufferLoad(highest, (ops.const(k, "int32"),)) for k in range(lanes)
    ]
    failed = [ops.greater(functools.reduce(ops.bitwise_or, loads), ops.const(0, WORD))]
    failed += [ops.less(bound, _ONE) for bound in bounds if not isinstance(bound, e.IntImm)]
    return _Row(highest, clear, s.DeclBuffer(flat, steps), sift, failed)


def _flat(buffer: Buffer) -> Buffer:
    """The same memory along one axis."""
    size = functools.reduce(ops.multiply, buffer.shape)
    return decl_buffer((size,), str(buffer.dtype), f"{buffer.name}_flat", buffer.data, None,
                       buffer.elem_offset, buffer.scope())  # fmt: skip


def _index_run(inside: PrimExpr, loop: s.For) -> _IndexRun | None:
    """What 0 <= index < extent asks of memory; None where it is not all about one element."""
    if not (isinstance(inside, e.And) and isinstance(inside.a, e.GE) and ops.is_zero(inside.a.b)):
        return None
    upper = inside.b
    if isinstance(upper, e.LT) and ops.is_zero(upper.b):
        return None  # nothing is inside
    if not (isinstance(upper, e.LT) and expr_deep_equal(inside.a.a, upper.a)):
        return None
    shift = None
    index = upper.a
    given = _from_the_end(index)
    if given is not None:
        index, shift = given
        if not expr_deep_equal(shift, upper.b):
            return None
    if not isinstance(index, e.BufferLoad) or not _is_signed(index) or index.buffer.strides:
        return None
    buffer = index.buffer
    offset: PrimExpr = ops.const(0, buffer.shape[0].dtype if buffer.shape else "int32")
    for axis, extent in zip(index.indices, buffer.shape):
        offset = ops.add(ops.multiply(offset, extent), axis)
    offset = Analyzer().simplify(offset)
    if any(isinstance(node, e.BufferLoad) for node in walk(offset)):
        return None
    found = linear_equation(offset, [loop.loop_var])
    if len(found) != 2 or not isinstance(found[0], e.IntImm) or found[0].value < 1:
        return None
    start = ops.add(ops.multiply(found[0], loop.min), found[1])
    return _IndexRun(buffer, found[0].value, start, shift, _bound(upper.b, shift, index))


def _bound(extent: PrimExpr, shift: PrimExpr | None, index: PrimExpr) -> PrimExpr:
    """The lowest number that is too high; more than 32 bits of it are not looked at."""
    factor = 1 if shift is None else 2
    most = (1 << 31) if shift is None and index.dtype.bits == 32 else (1 << 32) - 1
    if isinstance(extent, e.IntImm):
        return ops.const(min(extent.value * factor, most), WORD)
    wide = ops.multiply(ops.cast(extent, "int64"), ops.const(factor, "int64"))
    return ops.cast(e.Min(wide, ops.const(most, "int64")), WORD)


def _from_the_end(index: PrimExpr) -> tuple[PrimExpr, PrimExpr] | None:
    """Of "x, or x + n where x is negative": x and n."""
    if isinstance(index, e.Select):
        condition, moved, x = index.condition, index.true_value, index.false_value
    elif e.is_call_of(index, "tir.if_then_else"):
        assert isinstance(index, e.Call), "it has an operator"
        condition, moved, x = index.args
    elif isinstance(index, e.Add) and isinstance(index.b, e.Mul):
        x, factor, n = index.a, index.b.a, index.b.b
        if not (isinstance(factor, e.Cast) and factor.value.dtype.is_bool):
            return None
        condition, moved = factor.value, ops.add(x, n)
    else:
        return None
    if not (isinstance(condition, e.LT) and ops.is_zero(condition.b) and isinstance(moved, e.Add)):
        return None
    same = expr_deep_equal(condition.a, x) and expr_deep_equal(moved.a, x)
    return (x, moved.b) if same else None


# --- bits of comparisons and signs ---


def _by_bits(insides: Sequence[PrimExpr], loop: s.For | None) -> Look:
    """Bits to gather over all indices, and the number from which on they say that one is outside.

    Comparisons are cheapest for a vector or two at a time, sums of bits for more: not every CPU
    compares vectors of unsigned numbers, as which an index needs one comparison.
    """
    extent = None if loop is None else loop.extent
    is_short = isinstance(extent, e.IntImm) and extent.value <= _SHORT
    signs = [] if is_short else [_sign(inside) for inside in insides]
    known = [sign for sign in signs if sign is not None]
    if len(known) == len(insides):
        bits = max(sign.dtype.bits for sign in known)
        found = functools.reduce(ops.bitwise_or, [_wide(sign, bits) for sign in known])
        failure = ops.const(1 << (bits - 1), found.dtype)
    else:
        fails = [ops.cast(_opposite(inside), "int32") for inside in insides]
        found, failure = functools.reduce(ops.bitwise_or, fails), ops.const(1, "int32")
    outside = decl_buffer((1,), str(found.dtype), "outside", scope="local")
    load = e.BufferLoad(outside, (_ZERO,))
    clear = s.BufferStore(outside, ops.const(0, found.dtype), (_ZERO,))
    step = s.BufferStore(outside, ops.bitwise_or(load, found), (_ZERO,))
    failed = ops.greater_equal(load, failure)
    return Look(clear, step, s.Evaluate(0), failed, [outside], False)


def _sign(inside: PrimExpr) -> PrimExpr | None:
    """An unsigned number whose highest bit is set where the index is outside.

    Of x and n - 1 - x one is negative then; nothing is undefined when they wrap around.
    """
    parts = [inside.a, inside.b] if isinstance(inside, e.And) else [inside]
    found: list[PrimExpr] = []
    for part in parts:
        if isinstance(part, e.GE) and ops.is_zero(part.b) and _is_signed(part.a):
            found.append(_unsigned(part.a))
        elif isinstance(part, e.LT) and _is_signed(part.a):
            found.append(ops.subtract(_unsigned(ops.subtract(part.b, 1)), _unsigned(part.a)))
        else:
            return None
    return functools.reduce(ops.bitwise_or, found)


def _opposite(inside: PrimExpr) -> PrimExpr:
    """Both sides are compared without a branch between them."""
    if isinstance(inside, e.And):
        return ops.bitwise_or(ops.logical_not(inside.a), ops.logical_not(inside.b))
    return ops.logical_not(inside)


def _is_signed(x: PrimExpr) -> bool:
    return x.dtype.is_int and x.dtype.bits in (32, 64)


def _unsigned(x: PrimExpr) -> PrimExpr:
    return ops.cast(x, f"uint{x.dtype.bits}")


def _wide(x: PrimExpr, bits: int) -> PrimExpr:
    """The number with its highest bit as the highest of a wider one."""
    if x.dtype.bits == bits:
        return x
    return ops.multiply(ops.cast(x, f"uint{bits}"), ops.const(1 << x.dtype.bits, f"uint{bits}"))
