"""What the statements of a device function access, in order: barriers are inserted by that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tvm.arith.analyzer import Analyzer
from tvm.arith.int_set import IntervalSet, IntSet, SetEvaluator, neg_inf, pos_inf
from tvm.ir.expr import PrimExpr, Range
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis import expr_deep_equal
from tvm.tir.functor import uses_var, vars_in, walk
from tvm.tir.op.arith import is_one

from .met_elements import stores_meet

READ: Final = "read"
WRITE: Final = "write"
SYNC: Final = "sync"
_READS: Final = 1  # bits of the mask of tvm_access_ptr
_WRITES: Final = 2


@dataclass(frozen=True, eq=False)
class Access:
    """A read or write of some elements of a buffer; a barrier has neither buffer nor elements.

    `indices` are those of one load or store; `only` is the condition that leaves one thread.
    An `opaque` one is made by whoever gets an address.
    """

    kind: str
    buffer: e.Var | None = None
    indices: tuple[PrimExpr, ...] | None = None
    sets: tuple[IntSet, ...] = ()
    double_buffer_write: bool = False
    only: PrimExpr | None = None
    opaque: bool = False

    @property
    def points(self) -> tuple[PrimExpr, ...] | None:
        """The indices where each is one element, else None."""
        one = self.indices is not None and not any(i.dtype.is_vector for i in self.indices)
        return self.indices if one else None


def scope_of(var: e.Var) -> str:
    """The storage scope of the memory that a variable points to."""
    return str(getattr(var.type_annotation, "storage_scope", "")) or "global"


def accesses_in(node: PrimExpr | s.Stmt, scope: str) -> Iterator[Access]:
    """The accesses that one statement (or expression) makes by itself."""
    if isinstance(node, s.BufferStore):
        for part in (*node.indices, node.value, node.predicate):
            if part is not None:
                yield from accesses_in(part, scope)
        yield from _element(WRITE, node.buffer.data, node.indices, scope)
        return
    for part in walk(node):
        if isinstance(part, e.BufferLoad):
            yield from _element(READ, part.buffer.data, part.indices, scope)
        elif isinstance(part, e.Call):
            yield from _call(part, scope)


def _element(kind: str, buffer: e.Var, indices: Sequence[PrimExpr], scope: str) -> Iterator[Access]:
    if scope_of(buffer) == scope:
        sets = tuple([IntSet.vector(index) for index in indices])
        yield Access(kind, buffer, tuple(indices), sets)


def _call(call: e.Call, scope: str) -> Iterator[Access]:
    name = e.op_name(call)
    if name == "tir.tvm_access_ptr":
        buffer, offset, extent, mask = call.args[1:5]
        if isinstance(buffer, e.Var) and scope_of(buffer) == scope:
            sets = (IntervalSet.of_range(Range.from_min_extent(offset, extent)),)
            bits = mask.value if isinstance(mask, e.IntImm) else _READS | _WRITES
            if bits & _READS:
                yield Access(READ, buffer, None, sets, opaque=True)
            if bits & _WRITES:
                yield Access(WRITE, buffer, None, sets, opaque=True)
    elif name == "tir.address_of" and isinstance(call.args[0], e.BufferLoad):
        # whoever gets the address may write there
        load = call.args[0]
        for kind in (READ, WRITE):
            if scope_of(load.buffer.data) == scope:
                anywhere = tuple(map(_anywhere, load.indices))
                yield Access(kind, load.buffer.data, None, anywhere, opaque=True)
    elif name == "tir.tvm_storage_sync" and getattr(call.args[0], "value", "") == scope:
        yield Access(SYNC)


def _anywhere(index: PrimExpr) -> IntSet:
    return IntervalSet(neg_inf(), pos_inf())


def over(access: Access, var: e.Var, dom: Range) -> Access:
    """The access by all iterations of a loop; after it, the half that was filled last counts."""
    access = replace(access, double_buffer_write=False)
    if access.kind == SYNC or not any(_mentions(one, var) for one in access.sets):
        return access
    evaluator = SetEvaluator({var: dom}, Analyzer())
    sets = tuple([_relaxed(one, evaluator) for one in access.sets])
    return replace(access, indices=None, sets=sets)


def _mentions(one: IntSet, var: e.Var) -> bool:
    ends = (one.min_value, one.max_value) if isinstance(one, IntervalSet) else ()
    return any(uses_var(end, var) for end in ends)


def _relaxed(one: IntSet, evaluator: SetEvaluator) -> IntSet:
    if not isinstance(one, IntervalSet):
        return one
    low, high = evaluator.of(one.min_value), evaluator.of(one.max_value)
    return IntervalSet(low.min_value, high.max_value)


def one_left(threads: Sequence[e.IterVar], condition: PrimExpr) -> frozenset[e.Var]:
    """The variables of threads that have one value where the condition holds."""
    analyzer = Analyzer()
    own = [t for t in threads if t.thread_tag.startswith("threadIdx") and t.dom is not None]
    for t in own:
        assert t.dom is not None, "asked above"
        analyzer.bind(t.var, t.dom)
    with analyzer.constraint_scope(condition):
        bounds = [(t.var, analyzer.const_int_bound(t.var)) for t in own]
    return frozenset(var for var, bound in bounds if bound.min_value == bound.max_value)


class Conflicts:
    """Whether two accesses by different threads may meet at one element."""

    def __init__(
        self,
        threads: Sequence[e.IterVar],
        loops: Sequence[tuple[e.Var, Range]],
        scope: str,
        single: frozenset[e.Var] = frozenset(),
        in_turn: Callable[[e.Var | None, e.Var | None], bool] | None = None,
    ) -> None:
        self._in_turn = in_turn  # whether two buffers may have the same memory
        self._analyzer = Analyzer()
        self._threads = [t for t in threads if t.thread_tag.startswith("threadIdx")]
        domains: dict[e.Var, IntSet | Range] = {
            t.var: t.dom for t in self._threads if t.dom is not None
        }
        for t in threads:
            if t.dom is not None and t not in self._threads:
                self._analyzer.bind(t.var, t.dom)
        for var, dom in loops:
            self._analyzer.bind(var, dom)
        self._around = [t.var for t in threads if t not in self._threads]
        self._loops = loops
        self._same_iteration = SetEvaluator(domains, self._analyzer)
        self._axes = {
            t.var for t in self._threads
            if t.var not in single and (t.dom is None or not is_one(t.dom.extent))
        }  # fmt: skip
        self._alone = bool(single) and not self._axes and scope != "global"

    def between(self, earlier: Access, later: Access, carried_by: s.For | None = None) -> bool:
        """`carried_by` is the loop of which `earlier` belongs to an iteration before."""
        if self._alone:
            return False  # a thread sees what it wrote itself
        if earlier.buffer is not later.buffer:
            in_turn = self._in_turn
            return (
                later.kind == WRITE
                and in_turn is not None
                and in_turn(earlier.buffer, later.buffer)
            )
        if self._own_element(earlier, later):
            return False
        if earlier.double_buffer_write and later.kind == READ and carried_by is None:
            return False  # what is read was written before the halves were swapped
        return not self._apart(earlier, later, carried_by)

    def overwritten(self, earlier: Access, later: Access) -> bool:
        """Whether a thread may store where another has stored, in either order.

        Whoever gets addresses of one buffer twice (matrices that warps store) keeps them apart.
        """
        if earlier.opaque and later.opaque:
            return False
        if self._alone or earlier.buffer is not later.buffer or self._own_element(earlier, later):
            return False
        one, other = earlier.only, later.only
        if one is not None and other is not None and expr_deep_equal(one, other):
            return False
        if self._apart(earlier, later, None):
            return False
        if earlier.indices is None or later.indices is None:
            return True
        threads: dict[e.Var, int] = {}
        for t in self._threads:
            if t.dom is None or not isinstance(t.dom.extent, e.IntImm):
                return True
            threads[t.var] = t.dom.extent.value
        return any(
            stores_meet(earlier.indices, later.indices, threads, values)
            for values in self._iterations()
        )

    def _iterations(self) -> Iterator[dict[e.Var, int]]:
        """Values of the loops around, for a first and a second iteration."""
        first = dict.fromkeys(self._around, 0)
        second = dict(first)
        for var, dom in self._loops:
            if isinstance(dom.min, e.IntImm):
                first[var] = second[var] = dom.min.value
                second[var] += 0 if is_one(dom.extent) else 1
        yield first
        if second != first:
            yield second

    def _own_element(self, a: Access, b: Access) -> bool:
        """Both are the element that belongs to the thread."""
        if a.points is None or b.points is None or len(a.points) != len(b.points):
            return False
        if not all(expr_deep_equal(x, y) for x, y in zip(a.points, b.points)):
            return False
        used = set(vars_in(*b.points))
        return self._axes <= used

    def _apart(self, a: Access, b: Access, loop: s.For | None) -> bool:
        if len(a.sets) != len(b.sets):
            return False
        evaluator = self._same_iteration
        for one, other in zip(a.sets, b.sets):
            if not (isinstance(one, IntervalSet) and isinstance(other, IntervalSet)):
                continue
            if loop is not None:
                dom = Range.from_min_extent(loop.min, loop.extent)
                each = SetEvaluator({loop.loop_var: dom}, self._analyzer)
                one, other = _relaxed(one, each), _relaxed(other, each)
            x, y = _relaxed(one, evaluator), _relaxed(other, evaluator)
            assert isinstance(x, IntervalSet)
            assert isinstance(y, IntervalSet)
            if self._before(x, y) or self._before(y, x):
                return True
        return False

    def _before(self, x: IntervalSet, y: IntervalSet) -> bool:
        if not (x.has_upper_bound() and y.has_lower_bound()):
            return False
        return self._analyzer.can_prove(x.max_value < y.min_value)
