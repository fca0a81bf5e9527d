"""Limit the accesses of a vector statement or expression to the lanes of a mask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from tvm.arith.analyzer import Analyzer
from tvm.arith.const_int_bound import ConstIntBound
from tvm.arith.pattern import linear_equation
from tvm.arith.scalable import is_vscale
from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis import expr_deep_equal
from tvm.tir.effects import effect_of
from tvm.tir.functor import StmtExprMutator, rewrite, uses_var, walk
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin
from tvm.tir.op.forms import terms_of

N = TypeVar("N", bound=PrimExpr | s.Stmt)


def guard_lanes(
    node: N,
    mask: PrimExpr,
    analyzer: Analyzer,
    around: Mapping[e.Var, PrimExpr] | None = None,
) -> N | None:
    """`node` with the mask as predicate of its vector loads and stores.

    `around` are the extents of the loops that it is in.

    None where that is not possible: an effect, or a scalar access where the mask may exclude all
    lanes, would be made that were not before.
    """
    loops = {} if around is None else around
    some = _some_lane(_first_lane(mask), analyzer, loops)
    try:
        return rewrite(_LaneGuard(mask, analyzer, loops, some), node)
    except _Refused:
        return None


def guard_statement(
    stmt: s.Stmt, mask: PrimExpr, analyzer: Analyzer, around: Mapping[e.Var, PrimExpr]
) -> s.Stmt | None:
    """The statement limited to the lanes of a mask, behind a test of the first one if need be.

        if first + lane < n: B[first + lane] = A[first + lane] * C[0]
        ->
        if first < n: B[first:first + 8] = A[first:first + 8] * C[0]       # where first + lane < n

    With the test, what is not of the lanes (C[0]) is read only if one of them is there.
    """
    found = guard_lanes(stmt, mask, analyzer, around)
    first = _first_lane(mask)
    if found is not None or first is None or not _from_the_front(mask):
        return found
    try:
        found = rewrite(_LaneGuard(mask, analyzer, around, True), stmt)
    except _Refused:
        return None
    return s.IfThenElse(first, found, None, stmt.span)


def as_lane_mask(mask: PrimExpr, analyzer: Analyzer) -> e.Call | None:
    """A mask of lanes before an end as machines with such masks make it; None for others.

        T.Ramp(i * 4, 1, 4) < T.Broadcast(14, 4)  ->  T.get_active_lane_mask("uint1x4", i * 4, 14)

    The first index must not be negative: the operator takes it as unsigned.
    """
    if not (isinstance(mask, e.LT) and isinstance(mask.a, e.Ramp)):
        return None
    if not (isinstance(mask.b, e.Broadcast) and ops.is_one(mask.a.stride)):
        return None
    first, end = mask.a.base, mask.b.value
    unit = e.Var("vscale", first.dtype)
    analyzer.update(unit, ConstIntBound(1, ConstIntBound.POS_INF), True)
    if not analyzer.can_prove(ops.greater_equal(_ScaleNamer(unit).visit_expr(first), 0)):
        return None
    made = builtin.get_active_lane_mask(mask.dtype, first, end)
    assert isinstance(made, e.Call), "a call that is not folded"
    return made


class _ScaleNamer(StmtExprMutator):
    """Replaces vscale by a variable that is at least 1, whatever the target says of it."""

    def __init__(self, unit: e.Var) -> None:
        super().__init__()
        self._unit = unit

    def visit_call_(self, op: e.Call) -> PrimExpr:
        if is_vscale(op) and op.dtype is self._unit.dtype:
            return self._unit
        return super().visit_call_(op)


class _Refused(Exception):
    """Something in the program cannot be limited to some lanes."""


class _LaneGuard(StmtExprMutator):
    def __init__(
        self,
        mask: PrimExpr,
        analyzer: Analyzer,
        around: Mapping[e.Var, PrimExpr],
        some: bool,
    ) -> None:
        super().__init__()
        self._mask, self._analyzer, self._around = mask, analyzer, around
        self._some = some  # of the lanes are in

    def _predicate(self, present: PrimExpr | None, access: PrimExpr) -> PrimExpr:
        same = (
            access.dtype.lanes == self._mask.dtype.lanes
            and access.dtype.is_scalable == self._mask.dtype.is_scalable
        )
        if not same:
            raise _Refused
        if present is None:
            return self._mask
        # what it reads itself is there for the same lanes only
        return e.And(self.visit_expr(present), self._mask)

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        if op.dtype.is_scalar:
            if not self._some and not in_bounds(op, self._analyzer):
                raise _Refused
            return super().visit_buffer_load_(op)
        indices = self.visit_exprs(op.indices)
        predicate = self._predicate(op.predicate, indices[-1])
        if op.predicate is None and self._is_in_registers(op):
            return e.BufferLoad(op.buffer, indices, None, op.span)
        return e.BufferLoad(op.buffer, indices, predicate, op.span)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        if op.value.dtype.is_scalar:
            raise _Refused
        indices, value = self.visit_exprs(op.indices), self.visit_expr(op.value)
        predicate = self._predicate(op.predicate, indices[-1])
        if op.predicate is None and self._is_in_registers(op) and _updates(op):
            # a masked store keeps sums in memory, where the next load waits until it is done
            kept = e.BufferLoad(op.buffer, indices, None, op.span)
            value = e.Select(predicate, value, kept, op.span)
            return s.BufferStore(op.buffer, value, indices, None, op.span)
        return s.BufferStore(op.buffer, value, indices, predicate, op.span)

    def _is_in_registers(self, op: e.BufferLoad | s.BufferStore) -> bool:
        """Whether all lanes are there in a buffer of this thread's own, whatever the mask says."""
        index, extent = op.indices[-1], op.buffer.shape[-1]
        if op.buffer.scope() != "local" or len(op.indices) != 1 or not isinstance(index, e.Ramp):
            return False
        lanes = ops.literal(index.lanes) if isinstance(index.lanes, PrimExpr) else index.lanes
        if lanes is None or not ops.is_one(index.stride):
            return False
        last = ops.add(index.base, lanes)
        within = self._analyzer.can_prove(ops.less_equal(last, extent))
        return within and self._analyzer.can_prove(ops.greater_equal(index.base, 0))

    def visit_binary_(self, op: e.BinaryOpExpr) -> PrimExpr:
        # a division that the condition was to protect cannot be undone lane by lane
        divides = isinstance(op, (e.Div, e.Mod, e.FloorDiv, e.FloorMod)) and op.dtype.is_integer
        scalar = self._some and op.dtype.is_scalar
        if divides and not scalar and not _is_not_zero(op.b, self._around):
            raise _Refused
        return super().visit_binary_(op)

    def visit_call_(self, op: e.Call) -> PrimExpr:
        if effect_of(op) not in (e.CallEffectKind.Pure, e.CallEffectKind.ExprAnnotation):
            raise _Refused
        return super().visit_call_(op)

    def visit_evaluate_(self, op: s.Evaluate) -> s.Stmt:
        if isinstance(op.value, e.IntImm):
            return op
        raise _Refused

    def visit_while_(self, op: s.While) -> s.Stmt:
        raise _Refused  # it would run for lanes that are not there

    def visit_assert_stmt_(self, op: s.AssertStmt) -> s.Stmt:
        raise _Refused


def _updates(op: s.BufferStore) -> bool:
    """Whether a store changes what it reads at its own place."""
    return any(
        isinstance(node, e.BufferLoad)
        and node.buffer is op.buffer
        and all(map(expr_deep_equal, node.indices, op.indices))
        for node in walk(op.value)
    )


def _some_lane(
    first: PrimExpr | None, analyzer: Analyzer, around: Mapping[e.Var, PrimExpr]
) -> bool:
    """Whether what the mask says of its first lane holds, as in a loop over pieces of an extent.

        for i in range((n + 3) // 4): ... i * 4 < n ...
    """
    if isinstance(first, e.And):
        return all(_some_lane(part, analyzer, around) for part in (first.a, first.b))
    if first is None or analyzer.can_prove(first):
        return first is not None
    if not isinstance(first, (e.LT, e.LE)):
        return False
    end = first.b if isinstance(first, e.LT) else ops.add(first.b, 1)
    return any(
        _ends_within(first.a, piece, end, extent, analyzer)
        for piece, extent in around.items()
        if uses_var(first.a, piece)
    )


def _ends_within(
    index: PrimExpr, piece: e.Var, end: PrimExpr, extent: PrimExpr, analyzer: Analyzer
) -> bool:
    """Whether an index that grows with a loop stays below an end in all its iterations.

        for i in range((n % 4 + 3) // 4): ... (i + n // 4) * 4 < n ...
    """
    found = linear_equation(index, [piece])
    if not found or not isinstance(found[0], e.IntImm) or found[0].value < 1:
        return False
    pieces = ops.ceildiv(ops.subtract(end, found[1]), found[0])
    return analyzer.can_prove_equal(extent, pieces)


def _first_lane(mask: PrimExpr) -> PrimExpr | None:
    """What the mask says of its first lane; None for other masks than comparisons of ramps."""
    if isinstance(mask, e.Broadcast):
        return mask.value
    if isinstance(mask, e.And):
        a, b = _first_lane(mask.a), _first_lane(mask.b)
        return None if a is None or b is None else e.And(a, b)
    if isinstance(mask, e.CmpExpr):
        a, b = _first_element(mask.a), _first_element(mask.b)
        return None if a is None or b is None else type(mask)(a, b)
    if e.is_call_of(mask, "tir.get_active_lane_mask"):
        return ops.less(*mask.args)
    return None


def _from_the_front(mask: PrimExpr) -> bool:
    """True if no lane of the mask holds where the first one does not."""
    if isinstance(mask, e.And):
        return _from_the_front(mask.a) and _from_the_front(mask.b)
    if isinstance(mask, e.LT | e.LE):
        return _rises(mask.a) and isinstance(mask.b, e.Broadcast)
    if isinstance(mask, e.GT | e.GE):
        return isinstance(mask.a, e.Broadcast) and _rises(mask.b)
    return isinstance(mask, e.Broadcast | e.Call)  # a mask of lanes before an end


def _rises(value: PrimExpr) -> bool:
    """True if no lane is smaller than the first."""
    if not isinstance(value, e.Ramp):
        return isinstance(value, e.Broadcast)
    stride = ops.literal(value.stride)
    return stride is not None and stride >= 0


def _first_element(value: PrimExpr) -> PrimExpr | None:
    if isinstance(value, e.Ramp):
        return value.base
    return value.value if isinstance(value, e.Broadcast) else None


def in_bounds(op: e.BufferLoad, analyzer: Analyzer) -> bool:
    """The load may be executed even where the condition around it does not hold."""
    return all(
        analyzer.can_prove(ops.greater_equal(i, 0)) and analyzer.can_prove(ops.less(i, n))
        for i, n in zip(op.indices, op.buffer.shape)
    )


def _is_not_zero(divisor: PrimExpr, around: Mapping[e.Var, PrimExpr]) -> bool:
    """A number, or a product of sizes that a loop around runs through: then none of them is zero.

        for f in range(b * n * 12): ... f // (n * 12) ...
    """
    value = ops.literal(divisor)
    if value is not None:
        return value != 0
    wanted = _factors(divisor)
    return any(
        all(any(expr_deep_equal(factor, known) for known in _factors(extent)) for factor in wanted)
        for extent in around.values()
    )


def _factors(product: PrimExpr) -> list[PrimExpr]:
    """What is multiplied, but for numbers other than zero."""
    factors = terms_of(product, e.Mul)
    return [one for one in factors if not (isinstance(one, e.IntImm) and one.value != 0)]
