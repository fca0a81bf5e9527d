"""Loops marked as vectorized become vector statements.

    for j in T.vectorized(16):              B[ramp(i * 16, 1, 16)] =
        B[i * 16 + j] = A[i * 16 + j] * c   ->      A[ramp(i * 16, 1, 16)] * broadcast(c, 16)

What does not depend on the loop stays scalar. An allocation in the loop gets room for each lane. A
condition that differs between lanes becomes a predicate of the loads and stores below it, if
predicates are allowed (`tir.enable_buffer_level_predication`; by default for functions that are
bound to a CPU target); a statement that cannot be vectorized runs in a loop over the lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from itertools import islice
from typing import Any, Final

from tvm.arith.analyzer import Analyzer
from tvm.error import CheckError, InternalError, message
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.span import Span
from tvm.ir.transform import PassContext
from tvm.support.dtype import DataType
from tvm.target.target import Target
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis.deep_equal import expr_deep_equal
from tvm.tir.buffer import Buffer
from tvm.tir.effects import is_acting_call
from tvm.tir.function import PrimFunc
from tvm.tir.functor import (
    StmtExprMutator,
    expr_children,
    statements,
    substitute,
    vars_in,
    walk,
)
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin
from tvm.tir.scalar import int_range

from .analyzed_mutator import assume_sizes
from .annotate_irregular_loop import is_irregular
from .lane_predicate import as_lane_mask, guard_lanes, guard_statement, in_bounds
from .pass_form import tir_pass
from .vector_arith import spread, vector_product, vector_quotient, vector_sum


@tir_pass("tir.VectorizeLoop")
def VectorizeLoop(
    func: PrimFunc, mod: IRModule, ctx: PassContext, enable_vectorize: bool = True
) -> PrimFunc:
    """No loop is marked as vectorized afterwards; without `enable_vectorize` they become serial."""
    if not any(n.kind == s.ForKind.VECTORIZED for n in statements(func.body, s.For)):
        return func
    if not enable_vectorize:
        return func.with_body(_MarkRemover().visit_stmt(func.body))
    asked = ctx.option("tir.enable_buffer_level_predication")
    return func.with_body(_LoopFinder(func, asked).visit_stmt(func.body))


class Predicates(IntEnum):
    """What vector accesses under a condition may have."""

    NONE = 0
    COMPARISONS = 1
    LANE_MASKS = 2  # where the comparison is one, and nowhere else


def _predicates(asked: object, bound: object, target: Target | None) -> Predicates:
    if asked or (asked is None and _has_scalable_vectors(target)):
        return Predicates.LANE_MASKS
    compared = isinstance(bound, Target) and bound.kind.traits.machine_code
    return Predicates.COMPARISONS if asked is None and compared else Predicates.NONE


def _has_scalable_vectors(target: Target | None) -> bool:
    """Arm SVE, or the vector extension of RISC-V; elsewhere LLVM need not be asked."""
    if target is None:
        return False
    arch = target.cpu_arch
    if arch.startswith("riscv"):
        given = any(str(item).startswith(("+v", "+zve")) for item in target.attrs.get("mattr", ()))
        return given or bool(target.features.has_v)
    return arch == "aarch64" and bool(target.features.has_sve)


class _StmtOnly(StmtExprMutator):
    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr


class _MarkRemover(_StmtOnly):
    def visit_for_(self, op: s.For) -> s.Stmt:
        body = self.visit_stmt(op.body)
        kind = s.ForKind.SERIAL if op.kind == s.ForKind.VECTORIZED else op.kind
        if body is op.body and kind is op.kind:
            return op
        return s.For(op.loop_var, op.min, op.extent, kind, body, op.thread_binding,
                     op.annotations, op.span)  # fmt: skip


class _LoopFinder(_StmtOnly):
    """Finds the loops, and knows the ranges of the variables around them."""

    def __init__(self, func: PrimFunc, asked: object) -> None:
        super().__init__()
        bound = func.attrs.get("target")
        self._asked = asked  # by the configuration, about predicates
        self._target = bound if isinstance(bound, Target) else Target.current()
        self._predicates = _predicates(asked, bound, self._target)
        self._analyzer = Analyzer()
        assume_sizes(self._analyzer, func)
        self._around: dict[e.Var, PrimExpr] = {}  # the extents of the loops here

    def _predicates_for(self, region: Target) -> Predicates:
        return _predicates(self._asked, region, region)

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        if op.attr_key != "target" or not isinstance(op.node, Target):
            return super().visit_attr_stmt_(op)
        outer = self._target, self._predicates
        self._target, self._predicates = op.node, self._predicates_for(op.node)
        new = super().visit_attr_stmt_(op)
        self._target, self._predicates = outer
        return new

    def visit_for_(self, op: s.For) -> s.Stmt:
        if op.kind != s.ForKind.VECTORIZED:
            self._analyzer.bind(
                op.loop_var, Range.from_min_extent(op.min, op.extent), allow_override=True
            )
            self._around[op.loop_var] = op.extent
            loop = super().visit_for_(op)
            self._around.pop(op.loop_var)
            return loop
        if is_irregular(op):
            return _MarkRemover().visit_for_(op)
        lanes = self._analyzer.simplify(op.extent)
        if isinstance(lanes, e.IntImm) and lanes.value == 0:
            return s.Evaluate(0)  # of no elements: nothing happens
        if isinstance(lanes, e.IntImm) and lanes.value >= 1:
            piece = _piece(lanes.value)
            if piece != lanes.value:
                return self.visit_for_(_in_pieces(op, lanes.value // piece, piece))
            lanes = e.IntImm(e.INT32, lanes.value)
        elif e.vscale_factor(lanes) is None or not _has_scalable_vectors(self._target):
            target = "(nullptr)" if self._target is None else self._target
            raise CheckError(
                message(
                    f"Failed to vectorize loop with extent {op.extent} for target {target}",
                    found="an extent that is known only when the program runs",
                    where=f"the loop over {op.loop_var.name}",
                    legal="a positive constant, or a multiple of vscale on targets with scalable "
                    "vectors; split the loop first",
                )
            )
        maker = _Vectorizer(op, lanes, self._predicates, self._analyzer, self._around)
        return maker.visit_stmt(op.body)


# A vector of more lanes than this fills the registers several times over, and spills. A loop over
# shorter ones does the same, and LLVM takes time that grows with the square of the lanes.
MAX_LANES: Final = 128
PIECE_LANES: Final = 64


def _piece(lanes: int) -> int:
    """The lanes of one vector: all of them, or a divisor where they are too many."""
    if lanes <= MAX_LANES:
        return lanes
    fitting = [n for n in range(8, PIECE_LANES + 1) if lanes % n == 0]
    return fitting[-1] if fitting else lanes


def _in_pieces(op: s.For, count: int, lanes: int) -> s.For:
    """A serial loop over vectorized loops of fewer lanes."""
    dtype = op.loop_var.dtype
    outer, inner = op.loop_var.copy_with_suffix("_o"), op.loop_var.copy_with_suffix("_i")
    value = ops.add(op.min, ops.add(ops.multiply(outer, ops.const(lanes, dtype)), inner))
    body = substitute(op.body, {op.loop_var: value})
    zero = ops.const(0, dtype)
    vector = s.For(inner, zero, ops.const(lanes, dtype), op.kind, body, span=op.span)
    return s.For(outer, zero, ops.const(count, dtype), s.ForKind.SERIAL, vector, None,
                 op.annotations, op.span)  # fmt: skip


# Each load repeats the conditions around it, which may hold loads under conditions again: choices
# in conditions of choices would grow with every level. With more nodes lanes go one by one.
MAX_GUARDED: Final = 4096


class _NeedsScalars(Exception):
    """The statement at hand has no vector form."""


class _Vectorizer(StmtExprMutator):
    def __init__(
        self,
        loop: s.For,
        lanes: PrimExpr,
        predicates: Predicates,
        analyzer: Analyzer,
        around: Mapping[e.Var, PrimExpr],
    ) -> None:
        super().__init__()
        self._var, self._min, self._lanes = loop.loop_var, loop.min, lanes
        self._loop = loop
        self._analyzer, self._predicates, self._around = analyzer, predicates, around
        one = ops.const(1, self._var.dtype)
        self._ramp: PrimExpr = loop.min
        if not (isinstance(lanes, e.IntImm) and lanes.value == 1):
            self._ramp = e.Ramp(loop.min, one, lanes, loop.span)
            if isinstance(lanes, e.IntImm):
                dom = Range.from_min_extent(loop.min, ops.const(lanes.value, self._var.dtype))
                analyzer.bind(self._var, dom, allow_override=True)
        self._lets: dict[e.Var, e.Var] = {}
        self._let_values: dict[e.Var, PrimExpr] = {}

    # --- statements ---

    def visit_stmt(self, stmt: s.Stmt) -> s.Stmt:
        depth = self._depth
        try:
            return super().visit_stmt(stmt)
        except _NeedsScalars:
            self._depth = depth
            return self._scalarized(stmt)

    def _scalarized(self, stmt: s.Stmt) -> s.Stmt:
        """The statement once for each lane, in order."""
        used = set(vars_in(stmt))
        for var in reversed(list(self._lets)):
            if var in used:
                value = self._let_values[var]
                used.update(vars_in(value))
                stmt = s.LetStmt(var, value, stmt, stmt.span)
        lane = e.Var(f"{self._var.name}_s", self._var.dtype)
        lets = {var: var.copy_with_suffix("_s") for var in self._lets if var in used}
        body = substitute(stmt, {self._var: lane, **lets})
        extent = self._lanes if lane.dtype is self._lanes.dtype else ops.cast(
            self._lanes, lane.dtype
        )  # fmt: skip
        return s.For(lane, self._min, extent, s.ForKind.SERIAL, body, span=self._loop.span)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        indices = self._access_indices(op.indices, op.buffer.dtype)
        value = self.visit_expr(op.value)
        predicate = None if op.predicate is None else self.visit_expr(op.predicate)
        varies = not value.dtype.is_scalar or (
            predicate is not None and not predicate.dtype.is_scalar
        )
        if indices[-1].dtype.is_scalar:
            if varies and not op.value.dtype.is_vector:
                combined = self._combined(op, predicate)
                if combined is not None:
                    return combined
                raise _NeedsScalars  # several lanes meet in one element: keep their order
            if value is op.value and indices is op.indices and predicate is op.predicate:
                return op
        elif op.value.dtype.is_vector:
            value = self._widened_element(op, value)
        else:
            value = spread(value, self._lanes)
            predicate = None if predicate is None else spread(predicate, self._lanes)
        return s.BufferStore(op.buffer, value, indices, predicate, op.span)

    def _widened_element(self, op: s.BufferStore, value: PrimExpr) -> PrimExpr:
        """A vector that is one element of the buffer, once for each lane."""
        if op.buffer.dtype.is_scalable:
            raise InternalError(
                "Vectorizing over scalable buffer elements is not supported in vectorizer.\n"
                f"  where: {op}"
            )
        element = op.value.dtype is op.buffer.dtype  # and not several elements
        if op.predicate is not None or not element or not isinstance(self._lanes, e.IntImm):
            raise _NeedsScalars
        return self._in_lanes(value, op.value.dtype.lanes * self._lanes.value)

    def _in_lanes(self, value: PrimExpr, lanes: int) -> PrimExpr:
        """A vector of so many lanes; a uniform one is made longer."""
        if value.dtype.is_scalable:
            raise _NeedsScalars
        if value.dtype.lanes == lanes:
            return value
        if not isinstance(value, e.Broadcast):
            raise _NeedsScalars  # whole vectors, one after the other
        return e.Broadcast(value.value, lanes, value.span)

    def _combined(self, op: s.BufferStore, predicate: PrimExpr | None) -> s.Stmt | None:
        """x[i] = x[i] | f of each lane: the order does not matter, so all lanes at once."""
        value = op.value
        if not (
            self._predicates is Predicates.COMPARISONS  # machine code for vectors of fixed size
            and predicate is None
            and op.value.dtype.is_integer
            and e.is_call_of(value, "tir.bitwise_or")
        ):
            return None
        old, new = value.args
        load = e.BufferLoad(op.buffer, op.indices)
        if not expr_deep_equal(old, load) or self.visit_expr(old) is not old:
            return None
        if any(isinstance(n, e.BufferLoad) and n.buffer.data is op.buffer.data for n in walk(new)):
            return None
        lanes = builtin.vectoror(new.dtype, self.visit_expr(new))
        return s.BufferStore(op.buffer, ops.bitwise_or(old, lanes), op.indices, None, op.span)

    def _access_indices(
        self, indices: tuple[PrimExpr, ...], element: DataType
    ) -> tuple[PrimExpr, ...]:
        new = self.visit_exprs(indices)
        if any(index.dtype.is_vector for index in new[:-1]):
            raise _NeedsScalars
        if new is not indices and indices and indices[-1].dtype.is_vector:
            self._refuse_scalable(indices[-1], new[-1])
            raise _NeedsScalars  # vectors of vectors
        if new is not indices and element.is_vector and new[-1].dtype.is_vector:
            side_by_side = isinstance(new[-1], e.Ramp) and ops.is_one(new[-1].stride)
            if not side_by_side and isinstance(self._lanes, e.IntImm):
                raise _NeedsScalars  # elements of several lanes that lie apart
        return new

    def _refuse_scalable(self, old: PrimExpr, new: PrimExpr) -> None:
        """Vectors of vectors are taken apart lane by lane, which needs a number of lanes."""
        if not isinstance(self._lanes, e.IntImm):
            raise InternalError(
                "Creating scalable vectors from existing vectors is not supported.\n"
                f"  where: {old} in the loop over {self._var.name}"
            )
        if old.dtype.is_scalable:
            raise InternalError(
                "Vectorizing over existing scalable vectors is not supported.\n"
                f"  where: {old} in the loop over {self._var.name}"
            )

    def visit_for_(self, op: s.For) -> s.Stmt:
        low, extent = self.visit_expr(op.min), self.visit_expr(op.extent)
        if low.dtype.is_vector or extent.dtype.is_vector:
            raise _NeedsScalars
        self._analyzer.bind(op.loop_var, Range.from_min_extent(low, extent), allow_override=True)
        body = self.visit_stmt(op.body)
        kind = s.ForKind.SERIAL if op.kind == s.ForKind.VECTORIZED else op.kind
        if low is op.min and extent is op.extent and body is op.body and kind is op.kind:
            return op
        return s.For(op.loop_var, low, extent, kind, body, op.thread_binding, op.annotations,
                     op.span)  # fmt: skip

    def visit_if_then_else_(self, op: s.IfThenElse) -> s.Stmt:
        condition = self.visit_expr(op.condition)
        if condition.dtype.is_vector:
            return self._masked_if(op, condition)
        then_case = self.visit_stmt(op.then_case)
        else_case = None if op.else_case is None else self.visit_stmt(op.else_case)
        if condition is op.condition and then_case is op.then_case and else_case is op.else_case:
            return op
        return s.IfThenElse(condition, then_case, else_case, op.span)

    def _masked_if(self, op: s.IfThenElse, mask: PrimExpr) -> s.Stmt:
        if not self._predicates:
            raise _NeedsScalars
        if self._predicates is Predicates.LANE_MASKS:
            return self._under_lane_mask(op, mask)
        then_case = self._masked(op.then_case, mask)
        if op.else_case is None:
            return then_case
        inverse = ops.logical_not(mask)
        return s.SeqStmt.flatten(then_case, self._masked(op.else_case, inverse))

    def _under_lane_mask(self, op: s.IfThenElse, condition: PrimExpr) -> s.Stmt:
        """All accesses are to the elements that the condition counts, up to its limit."""
        mask = as_lane_mask(condition, self._analyzer)
        if mask is None or op.else_case is not None:
            raise _NeedsScalars
        then_case = self.visit_stmt(op.then_case)
        accesses = [n for n in walk(then_case) if isinstance(n, (s.BufferStore, e.BufferLoad))]
        if not accesses or not all(_starts_at(mask.args[0], one) for one in accesses):
            raise _NeedsScalars
        found = guard_statement(then_case, mask, self._analyzer, self._around)
        if found is None:
            raise _NeedsScalars
        return found

    def _masked(self, stmt: s.Stmt, mask: PrimExpr) -> s.Stmt:
        """The vectorized statement, its accesses limited to the lanes of the mask."""
        found = guard_statement(self.visit_stmt(stmt), mask, self._analyzer, self._around)
        if found is None:
            raise _NeedsScalars
        return found

    def visit_while_(self, op: s.While) -> s.Stmt:
        raise InternalError("A while loop inside a vectorized loop not supported.")

    def visit_let_stmt_(self, op: s.LetStmt) -> s.Stmt:
        value = self.visit_expr(op.value)
        if value.dtype.is_scalar or value.dtype is op.value.dtype:
            body = self.visit_stmt(op.body)
            same = value is op.value and body is op.body
            return op if same else s.LetStmt(op.var, value, body, op.span)
        var = self._bind(op.var, op.value, value)
        return s.LetStmt(var, value, self.visit_stmt(op.body), op.span)

    def _bind(self, var: e.Var, old: PrimExpr, new: PrimExpr) -> e.Var:
        vector = e.Var(var.name, new.dtype, var.span)
        self._lets[var] = vector
        self._let_values[var] = old
        return vector

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        extents, condition = self.visit_exprs(op.extents), self.visit_expr(op.condition)
        if condition.dtype.is_vector or any(x.dtype.is_vector for x in extents):
            raise _NeedsScalars
        # lanes lie side by side, so that an access of all lanes is contiguous
        last = ops.multiply(extents[-1], ops.cast(self._lanes, extents[-1].dtype))
        private = _LanePrivate(op.buffer_var, self._var, self._lanes)
        body = self.visit_stmt(private.visit_stmt(op.body))
        return s.Allocate(op.buffer_var, op.dtype, (*extents[:-1], last), condition, body,
                          op.annotations, op.span)  # fmt: skip

    def visit_assert_stmt_(self, op: s.AssertStmt) -> s.Stmt:
        if self.visit_expr(op.condition).dtype.is_vector:
            raise _NeedsScalars
        return super().visit_assert_stmt_(op)

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        if self.visit_expr(op.value).dtype is not op.value.dtype:
            raise _NeedsScalars
        return super().visit_attr_stmt_(op)

    def visit_evaluate_(self, op: s.Evaluate) -> s.Stmt:
        value = self.visit_expr(op.value)
        if value is op.value:
            return op if isinstance(value, e.IntImm) else self._once_a_lane(op)
        return s.Evaluate(value, op.span)

    def _once_a_lane(self, op: s.Evaluate) -> s.Stmt:
        """A call with effects is made in each iteration, also if its arguments are the same."""
        if is_acting_call(op.value):
            raise _NeedsScalars
        return op

    # --- expressions ---

    def visit_var_(self, op: e.Var) -> PrimExpr:
        if op is self._var:
            return self._ramp
        return self._lets.get(op, op)

    def visit_binary_(self, op: e.BinaryOpExpr) -> PrimExpr:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        if a is op.a and b is op.b:
            return op
        if a.dtype.is_scalar and b.dtype.is_scalar:
            return type(op)(a, b, op.span)
        if op.dtype.is_vector and not op.dtype.is_scalable:
            lanes = max(a.dtype.lanes, b.dtype.lanes)
            return type(op)(self._in_lanes(a, lanes), self._in_lanes(b, lanes), op.span)
        if isinstance(op, (e.Add, e.Sub)):
            return vector_sum(op, a, b, self._lanes)
        if isinstance(op, e.Mul):
            return vector_product(op, a, b, self._lanes)
        if isinstance(op, (e.FloorDiv, e.FloorMod)):
            return vector_quotient(op, a, b, self._lanes, self._analyzer)
        return type(op)(spread(a, self._lanes), spread(b, self._lanes), op.span)

    def visit_cmp_(self, op: e.CmpExpr) -> PrimExpr:
        a, b = self._pair(op.a, op.b)
        return op if a is op.a and b is op.b else type(op)(a, b, op.span)

    def visit_and_(self, op: e.And) -> PrimExpr:
        a, b = self._pair(op.a, op.b)
        return op if a is op.a and b is op.b else e.And(a, b, op.span)

    def visit_or_(self, op: e.Or) -> PrimExpr:
        a, b = self._pair(op.a, op.b)
        return op if a is op.a and b is op.b else e.Or(a, b, op.span)

    def _pair(self, x: PrimExpr, y: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        a, b = self.visit_expr(x), self.visit_expr(y)
        if a.dtype.lanes != b.dtype.lanes or a.dtype.is_scalable != b.dtype.is_scalable:
            if x.dtype.is_vector and not x.dtype.is_scalable:
                lanes = max(a.dtype.lanes, b.dtype.lanes)
                return self._in_lanes(a, lanes), self._in_lanes(b, lanes)
            return spread(a, self._lanes), spread(b, self._lanes)
        return a, b

    def visit_select_(self, op: e.Select) -> PrimExpr:
        condition = self.visit_expr(op.condition)
        if condition.dtype.is_vector and self._may_stray(op):
            return self._chosen(condition, op.true_value, op.false_value, op.span)
        a, b = self._pair(op.true_value, op.false_value)
        if condition is op.condition and a is op.true_value and b is op.false_value:
            return op
        if condition.dtype.is_scalar and a.dtype.is_scalar:
            return e.Select(condition, a, b, op.span)
        if not condition.dtype.is_vector:
            condition = spread(condition, self._lanes)
        a, b = spread(a, self._lanes), spread(b, self._lanes)
        return e.Select(condition, a, b, op.span)

    def visit_cast_(self, op: e.Cast) -> PrimExpr:
        value = self.visit_expr(op.value)
        if value is op.value:
            return op
        if value.dtype.is_scalar:
            return e.Cast(op.dtype, value, op.span)
        element = op.dtype.element_of()
        if isinstance(value, e.Broadcast):
            return e.Broadcast(ops.cast(value.value, element), value.lanes, op.span)
        if isinstance(value, e.Ramp) and element.is_int and self._keeps_values(value, element):
            base, stride = ops.cast(value.base, element), ops.cast(value.stride, element)
            return e.Ramp(base, stride, value.lanes, op.span)
        return e.Cast(
            element.with_lanes(value.dtype.lanes, value.dtype.is_scalable), value, op.span
        )

    def _keeps_values(self, ramp: e.Ramp, dtype: DataType) -> bool:
        """Whether all lanes of a ramp of integers are numbers of that type too."""
        if dtype.bits >= ramp.base.dtype.bits:
            return True
        if not isinstance(ramp.lanes, e.IntImm):
            return False
        low, high = int_range(dtype)
        last = ramp.base + ramp.stride * (ramp.lanes.value - 1)
        bounds = [self._analyzer.const_int_bound(end) for end in (ramp.base, last)]
        return all(low <= bound.min_value and bound.max_value <= high for bound in bounds)

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        indices = self._access_indices(op.indices, op.buffer.dtype)
        predicate = None if op.predicate is None else self.visit_expr(op.predicate)
        if indices is op.indices and predicate is op.predicate:
            return op
        if predicate is not None and indices[-1].dtype.is_vector:
            predicate = spread(predicate, self._lanes)
        return e.BufferLoad(op.buffer, indices, predicate, op.span)

    def visit_ramp_(self, op: e.Ramp) -> PrimExpr:
        return self._unchanged(op, super().visit_ramp_)

    def visit_broadcast_(self, op: e.Broadcast) -> PrimExpr:
        value = self.visit_expr(op.value)
        if value is op.value:
            return op
        if value.dtype.is_vector:
            raise _NeedsScalars  # vectors of vectors
        return e.Broadcast(value, op.lanes, op.span)

    def visit_shuffle_(self, op: e.Shuffle) -> PrimExpr:
        return self._unchanged(op, super().visit_shuffle_)

    def _unchanged(self, op: PrimExpr, visit: Callable[[Any], PrimExpr]) -> PrimExpr:
        """Vectors that are there already cannot be widened; they may use what is uniform."""
        if any(node is self._var or node in self._lets for node in walk(op)):
            self._refuse_scalable(op, op)
            raise _NeedsScalars
        return visit(op)

    def visit_let_(self, op: e.Let) -> PrimExpr:
        value = self.visit_expr(op.value)
        if value.dtype.is_scalar or value.dtype is op.value.dtype:
            body = self.visit_expr(op.body)
            same = value is op.value and body is op.body
            return op if same else e.Let(op.var, value, body, op.span)
        return e.Let(self._bind(op.var, op.value, value), value, self.visit_expr(op.body), op.span)

    def visit_call_(self, op: e.Call) -> PrimExpr:
        name = e.op_name(op)
        if name == "tir.if_then_else":
            return self._choice(op)
        if name == "tir.reinterpret" and op.args[0].dtype.bits != op.dtype.bits:
            raise _NeedsScalars
        new = [self.visit_expr(a) if isinstance(a, PrimExpr) else a for a in op.args]
        if all(a is b for a, b in zip(op.args, new)):
            return op
        if not any(_widened(a, b) for a, b in zip(op.args, new)):
            return e.Call(op.dtype, op.op, new, op.span)
        named = name == "tir.call_llvm_pure_intrin"  # its first argument is a name
        if not named and not (isinstance(op.op, Op) and op.op.get_attr("TVectorizable")):
            raise _NeedsScalars
        wide = [*new[:1], *[spread(a, self._lanes) for a in new[1:]]] if named else [
            spread(a, self._lanes) for a in new
        ]  # fmt: skip
        like = wide[-1].dtype
        return e.Call(op.dtype.with_lanes(like.lanes, like.is_scalable), op.op, wide, op.span)

    def _choice(self, op: e.Call) -> PrimExpr:
        condition = self.visit_expr(op.args[0])
        if condition.dtype.is_scalar:
            a, b = self._pair(op.args[1], op.args[2])
            if condition is op.args[0] and a is op.args[1] and b is op.args[2]:
                return op
            return e.Call(a.dtype, op.op, (condition, a, b), op.span)
        return self._chosen(condition, op.args[1], op.args[2], op.span)

    def _may_stray(self, op: e.Select) -> bool:
        """A load lies outside of its buffer for some lane, or may do so on a target with masks.

        A choice between scalars loads what it takes; of vectors all lanes are loaded. What the
        condition has loaded is there.
        """
        masks = self._predicates is Predicates.COMPARISONS
        strays = [
            node for value in (op.true_value, op.false_value) for node in walk(value)
            if isinstance(node, e.BufferLoad) and not in_bounds(node, self._analyzer)
            and (masks or _is_constant(node.buffer))
        ]  # fmt: skip
        there = _loads_for_sure(op.condition) if strays else []
        return not all(any(expr_deep_equal(load, other) for other in there) for load in strays)

    def _chosen(
        self, condition: PrimExpr, x: PrimExpr, y: PrimExpr, span: Span | None
    ) -> PrimExpr:
        """Both values, loaded only in the lanes that take them."""
        if self._predicates is not Predicates.COMPARISONS:
            raise _NeedsScalars
        inverse = ops.logical_not(condition)
        a, b = self.visit_expr(x), self.visit_expr(y)
        yes = guard_lanes(a, condition, self._analyzer, self._around)
        no = guard_lanes(b, inverse, self._analyzer, self._around)
        if yes is None or no is None:
            raise _NeedsScalars
        chosen = e.Select(condition, spread(yes, self._lanes), spread(no, self._lanes), span)
        if sum(1 for _ in islice(walk(chosen), MAX_GUARDED + 1)) > MAX_GUARDED:
            raise _NeedsScalars
        return chosen


def _loads_for_sure(condition: PrimExpr) -> list[e.BufferLoad]:
    """The loads that an expression makes whatever its choices choose."""
    found: list[e.BufferLoad] = []
    stack = [condition]
    while stack:
        node = stack.pop()
        if isinstance(node, e.BufferLoad):
            found.append(node)
        if isinstance(node, e.Select):
            stack.append(node.condition)
        elif isinstance(node, (e.And, e.Or)):
            stack.append(node.a)
        elif e.is_call_of(node, "tir.if_then_else"):
            stack.append(node.args[0])
        else:
            stack.extend(expr_children(node))
    return found


def _is_constant(buffer: Buffer) -> bool:
    return all(isinstance(extent, e.IntImm) for extent in buffer.shape)


def _starts_at(base: PrimExpr, access: s.BufferStore | e.BufferLoad) -> bool:
    first = access.indices[0] if access.indices else None
    return isinstance(first, e.Ramp) and expr_deep_equal(first.base, base)


def _widened(old: Any, new: Any) -> bool:
    return isinstance(new, PrimExpr) and new.dtype is not old.dtype


class _LanePrivate(StmtExprMutator):
    """Gives each lane its own elements of a buffer: element i of lane v is i * lanes + v."""

    def __init__(self, data: e.Var, lane: e.Var, lanes: PrimExpr) -> None:
        super().__init__()
        self._data, self._lane, self._lanes = data, lane, lanes

    def visit_buffer_use(self, buffer: Buffer) -> Buffer:
        if buffer.data is not self._data:
            return buffer
        known = self.buffers.get(buffer)
        if known is None:
            lanes = ops.cast(self._lanes, buffer.shape[-1].dtype)
            shape = (*buffer.shape[:-1], ops.multiply(buffer.shape[-1], lanes))
            strides = tuple([ops.multiply(x, lanes) for x in buffer.strides])
            known = buffer.with_changes(shape=shape, strides=strides)
            self.buffers[buffer] = known
        return known

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        return self.visit_buffer_use(buffer)

    def _index(self, indices: tuple[PrimExpr, ...]) -> tuple[PrimExpr, ...]:
        last = indices[-1]
        lanes, lane = ops.cast(self._lanes, last.dtype), ops.cast(self._lane, last.dtype)
        return (*indices[:-1], ops.add(ops.multiply(last, lanes), lane))

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        load = super().visit_buffer_load_(op)
        if op.buffer.data is not self._data:
            return load
        assert isinstance(load, e.BufferLoad)
        return e.BufferLoad(load.buffer, self._index(load.indices), load.predicate, load.span)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        store = super().visit_buffer_store_(op)
        if op.buffer.data is not self._data:
            return store
        assert isinstance(store, s.BufferStore)
        indices = self._index(store.indices)
        return s.BufferStore(store.buffer, store.value, indices, store.predicate, store.span)
