"""Runs of elements of many channels, turned in registers to vectors of channels, and back.

    for squares of L channels by L places:
        P[place[e], :] = X[cb, e]                   # on the way in
        C[cb, e] = epilogue(S[e, :])                # on the way out

A plane is one run of elements for that, so its rows need not be long. The last square begins
earlier than it would, and makes again what the one before has made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tvm.ir.expr import PrimExpr
from tvm.ir.node import Node
from tvm.ir.structural import structural_equal
from tvm.target.cpu_model import CpuModel
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.expr import BufferLoad, IntImm, IterVar, Max, Min, Ramp, Var
from tvm.tir.functor import StmtExprMutator, children, substitute, uses_any, walk
from tvm.tir.op.arith import less
from tvm.tir.schedule import Schedule
from tvm.tir.stmt import Block, BufferStore, For, ForKind, IfThenElse, LetStmt, SeqStmt, Stmt
from tvm.tir.tensor_intrin.transposition import turned

from .access import params_of
from .any_size import Loads, Scope, vector
from .fused import Epilogue
from .window_axes import Axis, Source


@dataclass(frozen=True)
class Windows:
    """A block of windows, as `sliding` has found it."""

    sch: Schedule
    node: Block
    down: Axis
    along: Axis
    read: PrimExpr
    source: Source
    last: Epilogue | None
    is_whole: bool  # the plane has no border
    outer: Sequence[IterVar]
    cpu: CpuModel


@dataclass(frozen=True)
class Views:
    """Planes of parameters as runs of elements: of the source, and those beside the result."""

    source: Buffer
    results: Mapping[Buffer, Buffer]
    final: BufferStore
    length: Var | IntImm  # of a plane of the result
    source_length: Var | IntImm


def views_of(found: Windows) -> Views | None:
    """The views; None where a plane is no parameter, or used in another way."""
    params, source = params_of(found.sch), found.source
    rank = len(source.buffer.shape)
    if source.buffer not in params or source.buffer.strides:
        return None
    if (source.dims[found.down], source.dims[found.along]) != (rank - 2, rank - 1):
        return None
    store, names = found.node.body, [found.down.iv.var, found.along.iv.var]
    if found.last is not None:
        node: Block = found.sch.get(found.last.block)
        store = node.body
        own = {value: var for var, value in found.last.variables.items() if isinstance(value, Var)}
        if not all(name in own for name in names):
            return None
        names = [own[name] for name in names]
    assert isinstance(store, BufferStore), "looked at before"
    length = _length("run", found.down.size, found.along.size)
    planes: dict[Buffer, Buffer] = {}
    made = found.node.body.buffer  # type: ignore[attr-defined]
    accesses: list[BufferStore | BufferLoad] = [store]
    if found.last is not None:
        accesses += [node for node in walk(store.value) if isinstance(node, BufferLoad)]
    for access in accesses:
        if access is not store and access.buffer is made:
            continue
        if not any(uses_any(index, set(names)) for index in access.indices):
            continue
        buffer = access.buffer
        if buffer not in params or buffer.strides or list(access.indices[-2:]) != names:
            return None
        if any(uses_any(index, set(names)) for index in access.indices[:-2]):
            return None
        if not all(structural_equal(a, size) for a, size in
                   zip(buffer.shape[-2:], (found.down.size, found.along.size))):  # fmt: skip
            return None
        planes[buffer] = _as_run(buffer, length)
    if found.last is not None and _uses_elsewhere(store.value, set(names)):
        return None
    source_length = _length("source_run", *source.buffer.shape[-2:])
    return Views(_as_run(source.buffer, source_length), planes, store, length, source_length)


def _length(name: str, height: PrimExpr, width: PrimExpr) -> Var | IntImm:
    """How long a plane is as a run, or a name for that."""
    if isinstance(height, IntImm) and isinstance(width, IntImm):
        return IntImm(width.dtype, height.value * width.value)
    return Var(name, width.dtype)


def _as_run(buffer: Buffer, length: PrimExpr) -> Buffer:
    shape = (*buffer.shape[:-2], length)
    return buffer.with_changes(shape=shape, strides=(), elem_offset=None)


def _uses_elsewhere(value: PrimExpr, names: set[Var]) -> bool:
    """Whether a value depends on variables otherwise than by what it loads."""
    pending: list[Node] = [value]
    while pending:
        node = pending.pop()
        if node in names:
            return True
        if not isinstance(node, BufferLoad):
            pending += children(node)
    return False


class Turned:
    """Turns runs of elements to vectors of channels, and results back; `channel` has many."""

    def __init__(
        self, store: BufferStore, along: IterVar, channel: IterVar, lanes: int, cpu: CpuModel
    ) -> None:
        self.channel, self.lanes, self.cpu, self.dtype = channel, lanes, cpu, along.var.dtype
        self.store, self.kind = store, str(store.buffer.dtype)
        square = (self._int(lanes), self._int(lanes))
        self.square = decl_buffer(square, self.kind, "square", scope="local")

    def squares(
        self, length: PrimExpr, value: Callable[[PrimExpr, PrimExpr], PrimExpr], target: Buffer,
        place: Callable[[int], Callable[[PrimExpr], PrimExpr]],
    ) -> Stmt:  # fmt: skip
        """Runs of elements of some channels turned to vectors of channels."""
        lanes = self.lanes

        def one(begin: PrimExpr) -> Stmt:
            def loads(limit: PrimExpr | None) -> Stmt:
                row, lane = self._var("row"), self._var("lane")
                load: Stmt = BufferStore(self.square, value(row, begin + lane), [row, lane])
                if limit is not None:
                    load = IfThenElse(less(lane, limit), load)
                return For(row, 0, lanes, ForKind.UNROLLED, vector(lane, lanes, load))

            columns, lets = self._turned()
            stores = [
                BufferStore(target, column, [self._ramp(place(number)(begin))])
                for number, column in enumerate(columns)
            ]
            return SeqStmt([self._for_lanes(length, loads), _within(lets, SeqStmt(list(stores)))])

        return self._each_square(length, one)

    def _each_square(self, length: PrimExpr, one: Callable[[PrimExpr], Stmt]) -> Stmt:
        """`one` for the first place of each square; the last ends with the run, if it can."""
        lanes, zero = self.lanes, self._int(0)
        if isinstance(length, IntImm) and length.value < lanes:
            return one(zero)
        number, scope = self._var("b"), Scope()
        begin: PrimExpr = Min(number * lanes, length - lanes)
        if not isinstance(length, IntImm):
            begin = Max(begin, zero)
        scope.add(one(scope.let("begin", begin)))
        return For(number, 0, (length + (lanes - 1)) // lanes, ForKind.SERIAL, scope.stmt())

    def _for_lanes(self, length: PrimExpr, make: Callable[[PrimExpr | None], Stmt]) -> Stmt:
        """What `make` gives for a limit of the lanes, where runs may be shorter than a vector."""
        lanes = self._int(self.lanes)
        if isinstance(length, IntImm):
            return make(length if length.value < self.lanes else None)
        return IfThenElse(less(length, lanes), make(length), make(None))

    def _turned(self) -> tuple[list[Var], list[tuple[Var, PrimExpr]]]:
        lets: list[tuple[Var, PrimExpr]] = []
        zero = self._int(0)
        rows = [BufferLoad(self.square, [self._int(row), self._ramp(zero)])
                for row in range(self.lanes)]  # fmt: skip
        return turned(rows, lets), lets

    def turned_back(
        self, results: Buffer, base: PrimExpr, first: PrimExpr, at: Mapping[Var, PrimExpr],
        start: PrimExpr, length: PrimExpr,
    ) -> Stmt:  # fmt: skip
        """The epilogue for a run of results, which are vectors of channels from `first` on."""
        lanes, zero, outer = self.lanes, self._int(0), Scope()
        start, length = outer.let("start", start), outer.let("length", length)

        def one(begin: PrimExpr) -> Stmt:
            row, lane = self._var("row"), self._var("lane")
            load = BufferLoad(results, [(base + begin + row) * lanes + lane])
            keep = vector(lane, lanes, BufferStore(self.square, load, [row, lane]))
            columns, lets = self._turned()
            back = [
                BufferStore(self.square, column, [self._int(number), self._ramp(zero)])
                for number, column in enumerate(columns)
            ]

            def stores(limit: PrimExpr | None) -> Stmt:
                row, lane = self._var("row"), self._var("lane")
                values = {**at, self.channel.var: first + row}
                total = BufferLoad(self.square, [row, lane])
                store = self._stored(values, start + begin + lane, total)
                if limit is not None:
                    store = IfThenElse(less(lane, limit), store)
                return For(row, 0, lanes, ForKind.UNROLLED, vector(lane, lanes, store))

            return SeqStmt([
                For(row, 0, lanes, ForKind.UNROLLED, keep),
                _within(lets, SeqStmt(list(back))),
                self._for_lanes(length, stores),
            ])  # fmt: skip

        outer.add(self._each_square(length, one))
        return outer.stmt()

    def _stored(
        self, values: Mapping[Var, PrimExpr], place: PrimExpr, total: PrimExpr
    ) -> Stmt:
        """What becomes of one result, at a place of its plane."""
        raise NotImplementedError

    def _ramp(self, base: PrimExpr) -> PrimExpr:
        return Ramp(base, self._int(1), self.lanes)

    def _int(self, value: int) -> IntImm:
        return IntImm(self.dtype, value)

    def _var(self, name: str) -> Var:
        return Var(name, self.dtype)


class TurnedRuns(Turned):
    """The same of a block of windows, whose planes are parameters."""

    def __init__(self, found: Windows, channel: IterVar, lanes: int, views: Views) -> None:
        store = found.node.body
        assert isinstance(store, BufferStore), "looked at by the caller"
        super().__init__(store, found.along.iv, channel, lanes, found.cpu)
        self.w, self.views, self.down, self.along = found, views, found.down, found.along

    def _stored(
        self, values: Mapping[Var, PrimExpr], place: PrimExpr, total: PrimExpr
    ) -> Stmt:
        """What becomes of one result, at a place of its plane."""
        final = self.views.final
        zero = {self.down.iv.var: self._int(0), self.along.iv.var: self._int(0)}
        given: dict[Var, PrimExpr] = {**values, **zero}
        if self.w.last is not None:
            given = {var: substitute(v, given) for var, v in self.w.last.variables.items()}
        else:
            final = BufferStore(final.buffer, total, final.indices)
        made = _Flat(self.views.results, place).visit_stmt(final)
        loads = {} if self.w.last is None else {self.store.buffer: total}
        return Loads(loads, given).visit_stmt(made)


class _Flat(StmtExprMutator):
    """Reads and writes planes as runs, at one place."""

    def __init__(self, views: Mapping[Buffer, Buffer], place: PrimExpr) -> None:
        super().__init__()
        self._views, self._place = views, place

    def visit_buffer_load_(self, op: BufferLoad) -> PrimExpr:
        view = self._views.get(op.buffer)
        if view is None:
            return super().visit_buffer_load_(op)
        return BufferLoad(view, [*op.indices[:-2], self._place])

    def visit_buffer_store_(self, op: BufferStore) -> Stmt:
        view = self._views[op.buffer]
        return BufferStore(view, self.visit_expr(op.value), [*op.indices[:-2], self._place])


def _within(lets: Sequence[tuple[Var, PrimExpr]], body: Stmt) -> Stmt:
    for var, value in reversed(lets):
        body = LetStmt(var, value, body)
    return body
