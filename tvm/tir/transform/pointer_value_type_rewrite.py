"""Memory that is accessed by whole vectors only is memory of vectors.

    A = T.Buffer((16,), "float32")                A = T.Buffer((4,), "float32x4")
    A[i * 4:i * 4 + 4] = ...                      A[i * 4 / 4] = ...
    B[i] = A[i * 4] + A[i * 4 + 1]        ->      B[i] = T.Shuffle([A[i * 4 / 4]], [0])
                                                       + T.Shuffle([A[(i * 4 + 1) / 4]], [1])

So source backends need no cast of a pointer at each access. A buffer is meant if all its vectors
are of one length that divides its last extent and their starts, if scalars are only read and the
lane that each is in is known, and if its address is not taken.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tvm.arith.analyzer import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.ir.type import PointerType, PrimType
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, statements, walk
from tvm.tir.op import arith as ops

from .pass_form import tir_pass


@tir_pass("tir.PointerValueTypeRewrite")
def PointerValueTypeRewrite(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No memory that could hold vectors holds scalars."""
    return _retyped(func, {var: uses.lanes() for var, uses in _uses(func).items()})


def retype_pointers(func: PrimFunc, *, allocations: bool) -> PrimFunc:
    """Pointers that are bound, or allocated, are to vectors where only whole ones are touched.

    Three lanes take the room of four where memory is laid out, so powers of two are meant.
    """
    bound = {n.var for n in statements(func.body, s.LetStmt) if n.var.dtype.is_handle}
    if allocations:
        bound |= {n.buffer_var for n in statements(func.body, s.Allocate)}
    if not bound:
        return func
    lanes = {}
    for var, uses in _uses(func).items():
        bytewise = all(t.bits >= 8 and not t.is_bool for t in uses.dtypes)
        if var in bound and bytewise and not uses.steps:
            lanes[var] = uses.lanes()
    return _retyped(func, {var: n for var, n in lanes.items() if n & (n - 1) == 0})


def _retyped(func: PrimFunc, lanes: dict[e.Var, int]) -> PrimFunc:
    lanes = {var: count for var, count in lanes.items() if count > 1}
    if not lanes:
        return func
    rewriter = _Rewriter(lanes)
    params = [rewriter.variable(p) for p in func.params]
    buffers = {}
    for old, new in zip(func.params, params):
        if old in func.buffer_map:
            buffers[new] = rewriter.visit_buffer_def(func.buffer_map[old])
    body = rewriter.visit_stmt(func.body)
    return PrimFunc(params, body, func.ret_type, buffers, func.attrs, func.span)


@dataclass
class _Uses:
    """How a piece of memory is accessed: `steps` are the units that scalar reads are known to."""

    dtypes: set[DataType] = field(default_factory=set)
    vectors: set[int] = field(default_factory=set)
    steps: set[int] = field(default_factory=set)
    extents: list[PrimExpr] = field(default_factory=list)
    opaque: bool = False

    def lanes(self) -> int:
        """The length of its vectors, or 1."""
        if self.opaque or len(self.dtypes) != 1 or len(self.vectors) != 1:
            return 1
        (lanes,) = self.vectors
        (dtype,) = self.dtypes
        if lanes == 1 or dtype.lanes != 1 or any(step % lanes for step in self.steps):
            return 1
        analyzer = Analyzer()
        whole = all(_is_multiple(analyzer, extent, lanes) for extent in self.extents)
        return lanes if whole else 1


def _is_multiple(analyzer: Analyzer, expr: PrimExpr, lanes: int) -> bool:
    known = analyzer.modular_set(expr)
    return known.coeff % lanes == 0 and known.base % lanes == 0


def _uses(func: PrimFunc) -> dict[e.Var, _Uses]:
    """How each piece of memory is accessed."""
    uses: dict[e.Var, _Uses] = {}
    for buffer in func.buffer_map.values():
        uses.setdefault(buffer.data, _Uses()).extents.extend(buffer.shape[-1:])
    analyzer = Analyzer()
    accessed: set[int] = set()
    for node in walk(func.body):
        if isinstance(node, s.Allocate):
            uses.setdefault(node.buffer_var, _Uses()).extents.extend(node.extents[-1:])
        elif isinstance(node, s.AllocateConst):
            uses.setdefault(node.buffer_var, _Uses()).opaque = True
        elif isinstance(node, s.DeclBuffer):
            uses.setdefault(node.buffer.data, _Uses()).extents.extend(node.buffer.shape[-1:])
        elif isinstance(node, (s.BufferStore, e.BufferLoad)):
            known = uses.setdefault(node.buffer.data, _Uses())
            _note(known, node, analyzer)
            if id(node.buffer) not in accessed:
                accessed.add(id(node.buffer))
                known.extents.extend(node.buffer.shape[-1:])
        elif isinstance(node, e.Call):
            for arg in node.args:  # by address, or as a whole
                if isinstance(arg, e.BufferLoad) and e.op_name(node) in _ADDRESSES:
                    uses.setdefault(arg.buffer.data, _Uses()).opaque = True
                elif isinstance(arg, e.Var):
                    uses.setdefault(arg, _Uses()).opaque = True
        elif isinstance(node, s.LetStmt) and isinstance(node.value, e.Var):
            uses.setdefault(node.value, _Uses()).opaque = True
    return uses


_ADDRESSES = ("tir.address_of",)


def _note(known: _Uses, node: s.BufferStore | e.BufferLoad, analyzer: Analyzer) -> None:
    known.dtypes.add(node.buffer.dtype)
    if node.predicate is not None or not node.indices:
        known.opaque = True
        return
    index = node.indices[-1]
    if index.dtype.is_scalar:
        if isinstance(node, e.BufferLoad):
            known.steps.add(analyzer.modular_set(index).coeff)
        else:
            known.vectors.add(1)
        return
    lanes = 1
    if isinstance(index, e.Ramp) and ops.is_one(index.stride):
        count = index.lanes
        if isinstance(count, e.IntImm) and _is_multiple(analyzer, index.base, count.value):
            lanes = count.value
    known.vectors.add(lanes)


class _Rewriter(StmtExprMutator):
    def __init__(self, lanes: dict[e.Var, int]) -> None:
        super().__init__()
        self._lanes = lanes
        self._renamed: dict[e.Var, e.Var] = {}
        self._analyzer = Analyzer()

    def variable(self, var: e.Var) -> e.Var:
        """The variable as a pointer to vectors."""
        kind = var.type_annotation
        if var not in self._lanes or not isinstance(kind, PointerType):
            return var
        made = self._renamed.get(var)
        if made is None:
            element = kind.element_type
            assert isinstance(element, PrimType), "a pointer to numbers"
            vector = PrimType(str(DataType(element.dtype).with_lanes(self._lanes[var])))
            made = e.Var(var.name, PointerType(vector, kind.storage_scope), var.span)
            self._renamed[var] = made
        return made

    def visit_var_def(self, var: e.Var) -> e.Var:
        """The name of a pointer that something else gives."""
        return self.variable(var)

    def visit_var_(self, op: e.Var) -> PrimExpr:
        return self._renamed.get(op, op)

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        lanes = self._lanes.get(buffer.data, 1)
        if lanes == 1:
            return super().visit_buffer_def(buffer)
        made = self.buffers.get(buffer)
        if made is None:
            *outer, last = buffer.shape
            strides = tuple([_over(stride, lanes) for stride in buffer.strides[:-1]])
            made = buffer.with_changes(
                data=self.variable(buffer.data), dtype=buffer.dtype.with_lanes(lanes),
                shape=(*outer, _over(last, lanes)),
                strides=(*strides, *buffer.strides[-1:]) if buffer.strides else (),
            )  # fmt: skip
            self.buffers[buffer] = made
        return made

    def visit_buffer_use(self, buffer: Buffer) -> Buffer:
        return self.visit_buffer_def(buffer) if buffer.data in self._lanes else (
            super().visit_buffer_use(buffer)
        )  # fmt: skip

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        lanes = self._lanes.get(op.buffer_var, 1)
        if lanes == 1:
            return super().visit_allocate_(op)
        *outer, last = op.extents
        var = self.variable(op.buffer_var)
        extents = [*outer, _over(last, lanes)]
        body = self.visit_stmt(op.body)
        dtype = op.dtype.with_lanes(lanes)
        return s.Allocate(var, dtype, extents, op.condition, body, op.annotations, op.span)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        lanes = self._lanes.get(op.buffer.data, 1)
        if lanes == 1:
            return super().visit_buffer_store_(op)
        indices, _ = self._moved(op.indices, lanes)
        buffer = self.visit_buffer_use(op.buffer)
        return s.BufferStore(buffer, self.visit_expr(op.value), indices, None, op.span)

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        lanes = self._lanes.get(op.buffer.data, 1)
        if lanes == 1:
            return super().visit_buffer_load_(op)
        indices, lane = self._moved(op.indices, lanes)
        load = e.BufferLoad(self.visit_buffer_use(op.buffer), indices, None, op.span)
        return load if lane is None else e.Shuffle([load], [ops.const(lane)], op.span)

    def _moved(
        self, indices: tuple[PrimExpr, ...], lanes: int
    ) -> tuple[list[PrimExpr], int | None]:
        """The indices of a vector, and the lane if one element is meant."""
        *outer, last = self.visit_exprs(indices)
        if isinstance(last, e.Ramp):
            return [*outer, _over(last.base, lanes)], None
        lane = self._analyzer.modular_set(last).base % lanes
        return [*outer, _over(last, lanes)], lane


def _over(expr: PrimExpr, lanes: int) -> PrimExpr:
    """The index of a vector; the remainder of the division is not needed."""
    return ops.truncdiv(expr, ops.const(lanes, expr.dtype))
