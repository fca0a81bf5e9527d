"""What windows of a block read: axes of a plane, and the buffer that its elements come from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.tir.expr import BufferLoad, Call, IntImm, IterVar, Var, make_const
from tvm.tir.functor import StmtExprMutator, substitute, uses_var, vars_in, walk
from tvm.tir.op.forms import conjuncts
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.stmt import Block, BufferStore

from .access import extent
from .fused import is_border
from .planes import Plane, is_choice


@dataclass(frozen=True, eq=False)
class Axis:
    """A dimension of a plane, indexed by the result times `step` plus the window."""

    iv: IterVar
    dim: int
    step: int
    tap: IterVar | None
    scale: int

    @property
    def taps(self) -> range:
        """The steps of the window."""
        return range(1 if self.tap is None else extent(self.tap) or 1)

    @property
    def reach(self) -> int:
        """The distance between the elements that the first and the last tap read."""
        return (len(self.taps) - 1) * self.scale

    @property
    def size(self) -> PrimExpr:
        """The extent along the result."""
        assert self.iv.dom is not None, "block variables have domains"
        return self.iv.dom.extent

    def at(self, index: PrimExpr, tap: PrimExpr | int) -> dict[Var, PrimExpr]:
        """The variables for an index of the result and one of the window."""
        found = {self.iv.var: index}
        if self.tap is not None:
            dtype = self.tap.var.dtype
            found[self.tap.var] = tap if isinstance(tap, PrimExpr) else IntImm(dtype, tap)
        return found


def axis_of(plane: Plane, iv: IterVar, reducing: Sequence[IterVar]) -> Axis | None:
    """Where a variable of the result moves the window; None unless one tap does, or none."""
    dims = [dim for dim, terms in enumerate(plane.terms) if terms.get(iv.var)]
    if len(dims) != 1:
        return None
    terms = plane.terms[dims[0]]
    taps = [tap for tap in reducing if terms.get(tap.var) and extent(tap) != 1]
    steps = {iv.var, *(tap.var for tap in reducing)}
    if len(taps) > 1 or any(scale and var not in steps for var, scale in terms.items()):
        return None
    if not taps:
        return Axis(iv, dims[0], terms[iv.var], None, 1)
    if sum(1 for other in plane.terms if other.get(taps[0].var)) > 1:
        return None
    return Axis(iv, dims[0], terms[iv.var], taps[0], terms[taps[0].var])


class Source:
    """Where a plane comes from: a buffer, and its indices by those of the plane.

    Index v along an axis of the plane is index v - before of the buffer, if that is one; else it
    holds `other`. Variables of the block are its `own`.
    """

    def __init__(
        self, load: BufferLoad, dims: Mapping[Axis, int], other: PrimExpr, own: Collection[Var]
    ) -> None:
        self.buffer, self.indices, self.dims, self.other = load.buffer, load.indices, dims, other
        self.before: dict[Axis, int | PrimExpr] = {}  # an expression where only running tells
        for axis, dim in dims.items():
            zeros = {var: make_const(0, var.dtype) for var in own}
            before = Analyzer().simplify(-substitute(load.indices[dim], zeros))
            self.before[axis] = before.value if isinstance(before, IntImm) else before

    def known_before(self) -> dict[Axis, int] | None:
        """How wide the border is at the begin of each axis; None where only running tells."""
        found = {axis: n for axis, n in self.before.items() if isinstance(n, int)}
        return found if len(found) == len(self.before) else None

    def size(self, axis: Axis) -> PrimExpr:
        """The extent of the buffer along an axis."""
        return self.buffer.shape[self.dims[axis]]

    def at(self, values: Mapping[Var, PrimExpr], indices: Mapping[Axis, PrimExpr]) -> PrimExpr:
        """The element at these indices of the buffer."""
        given = {self.dims[axis]: dim_index for axis, dim_index in indices.items()}
        return BufferLoad(
            self.buffer,
            [given.get(dim, substitute(index, values)) for dim, index in enumerate(self.indices)],
        )


def source_of(
    sch: Schedule, pad: BlockRV | None, read: PrimExpr, plane: Plane, axes: Sequence[Axis]
) -> Source | None:
    """Where a plane comes from; None if its border is no plain one."""
    choice, names = read, {}
    if pad is not None:
        made: Block = sch.get(pad)
        assert isinstance(made.body, BufferStore), "a padding is one store"
        names = dict(zip(made.body.indices, plane.indices))
        choice = substitute(made.body.value, names)  # type: ignore[arg-type]
    load: PrimExpr = choice
    terms: list[PrimExpr] = []
    other: PrimExpr = make_const(0, choice.dtype)
    if isinstance(choice, Call):
        load, other, terms = choice.args[1], choice.args[2], conjuncts(choice.args[0])
    if not isinstance(load, BufferLoad) or next(vars_in(other), None) is not None:
        return None
    dims: dict[Axis, int] = {}
    own = {var for terms_of in plane.terms for var in terms_of}
    for axis in axes:
        found = [dim for dim, i in enumerate(load.indices) if uses_var(i, axis.iv.var)]
        if len(found) != 1:
            return None
        dims[axis] = found[0]
    if dims[axes[-1]] != len(load.indices) - 1:
        return None
    for axis, dim in dims.items():
        moved = Analyzer().simplify(load.indices[dim] - plane.indices[axis.dim])
        if any(var in own for var in vars_in(moved)):
            return None
        terms = [term for term in terms if not is_border(term, load, dim)]
    return None if terms else Source(load, dims, other, own)


class ReadPlane(StmtExprMutator):
    """Replaces what is read from a plane by a value."""

    def __init__(self, read: PrimExpr, value: PrimExpr) -> None:
        super().__init__()
        self._read, self._value = read, value

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return self._value if expr is self._read else super().visit_expr(expr)


def read_of(value: PrimExpr, plane: Plane) -> PrimExpr:
    """What is read from a plane: an element, or one under a condition, else a number."""
    found: PrimExpr | None = None
    for node in walk(value):
        if is_choice(node) and isinstance(node.args[1], BufferLoad):
            if node.args[1].buffer is plane.buffer:
                return node  # type: ignore[no-any-return]
        elif isinstance(node, BufferLoad) and node.buffer is plane.buffer:
            found = node
    assert found is not None, "a plane is read"
    return found
