"""Planes of any size that are only used whole, element by element, are runs of one size.

    for y, x in h, w: B[c, y, x] += A[k, y + 0, x + 0] * W[c, k]
                      ->  n = h * w;  for i in n: B[c, i] += A[k, i] * W[c, k]

As one dimension the plane is nothing that a proof, or the code, has to divide by its width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tvm.arith import Analyzer
from tvm.dlight.base import open_schedule
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.analysis import expr_deep_equal
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, IntImm, IterVar, SizeVar, Var, make_const
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, statements, substitute, vars_in
from tvm.tir.op.arith import is_one, is_zero
from tvm.tir.schedule import Schedule
from tvm.tir.schedule.rebuild import change_block
from tvm.tir.schedule.regions import with_regions
from tvm.tir.schedule.scopes import TRUE
from tvm.tir.stmt import (
    Block,
    BlockRealize,
    BufferStore,
    DeclBuffer,
    For,
    LetStmt,
    SeqStmt,
    Stmt,
)

from .base import REASON, with_reason
from .weights import without_packing


@dataclass(frozen=True)
class Runs:
    """A function over runs, and what the planes were that it is made of."""

    func: PrimFunc
    whole: PrimFunc
    length: Var
    value: PrimExpr
    views: tuple[Buffer, ...]  # of parameters, in the form of runs

    def schedule_of_planes(self, sch: Schedule) -> Schedule:
        """The schedule of the runs as one of the function over planes.

        Packing of weights, which is looked for at the top of a function, stays there.
        """
        func = sch.mod["main"]
        assert isinstance(func, PrimFunc), "rules schedule TIR functions"
        assert isinstance(func.body, BlockRealize), "schedules keep the root"
        rest, packing = without_packing(func.body.block)
        made = [region.buffer for stmt in packing for block in statements(stmt, Block)
                for region in block.writes]  # fmt: skip
        body: Stmt = BlockRealize([], TRUE, rest)
        for view in self.views:
            body = DeclBuffer(view, body)
        body = LetStmt(self.length, self.value, body)
        body = SeqStmt.flatten([*packing, body])
        root = BlockRealize([], TRUE, Block([], [], [], "root", body, None, made))
        attrs = {**(self.whole.attrs or {}), **(func.attrs or {})}
        whole = open_schedule(self.whole.with_body(root).with_attrs(attrs))
        return with_reason(whole, str(attrs[REASON]))


def as_runs(func: PrimFunc, plane: Sequence[PrimExpr]) -> Runs | None:
    """The function with planes of these extents as runs; None if one is used in another way."""
    if len(plane) < 2 or not isinstance(func.body, BlockRealize):
        return None
    if len({extent.dtype for extent in plane}) > 1:  # no variable runs along them all
        return None
    length: PrimExpr = plane[0]
    for extent in plane[1:]:
        length = length * extent
    name = SizeVar("run", plane[-1].dtype)
    root = func.body.block
    held = [*func.buffer_map.values(), *root.alloc_buffers]
    views = {
        buffer: buffer.with_changes(
            shape=(*buffer.shape[: -len(plane)], name), strides=(), elem_offset=None
        )
        for buffer in held
        if _ends_in(buffer.shape, plane) and not buffer.strides
    }
    rule = _Runs(views, plane, name)
    try:
        body = rule.visit_stmt(func.body)
    except _OtherUseError:
        return None
    params = {param: views.get(buffer, buffer) for param, buffer in func.buffer_map.items()}
    made = PrimFunc(func.params, body, func.ret_type, params, func.attrs, func.span)
    own = tuple(views[b] for b in func.buffer_map.values() if b in views)
    return Runs(made, func, name, length, own)


def _ends_in(shape: Sequence[PrimExpr], plane: Sequence[PrimExpr]) -> bool:
    last = shape[-len(plane) :]
    return len(last) == len(plane) and all(expr_deep_equal(a, b) for a, b in zip(last, plane))


class _OtherUseError(Exception):
    """A plane is not used element by element."""


class _Runs(StmtExprMutator):
    """Makes one loop, one variable and one dimension of those of a plane."""

    def __init__(self, views: dict[Buffer, Buffer], plane: Sequence[PrimExpr], run: Var) -> None:
        super().__init__()
        self._views, self._plane, self._run = views, plane, run
        self._loops: dict[Var, Var | None] = {}  # what stands for a loop's variable, if anything
        self._along_vars: tuple[Var, ...] = ()  # variables of the block along the plane
        self._at: Var | None = None
        self._analyzer = Analyzer()

    def visit_for_(self, op: For) -> Stmt:
        """A loop along the plane's first dimension runs along it all, others are none."""
        body = op
        while isinstance(body.body, For):
            body = body.body
        if isinstance(body.body, BlockRealize):
            self._take(body.body)
        if op.loop_var not in self._loops:
            return super().visit_for_(op)
        run, inner = self._loops[op.loop_var], self.visit_stmt(op.body)
        return inner if run is None else For(run, 0, self._run, op.kind, inner, span=op.span)

    def _take(self, realize: BlockRealize) -> None:
        """Note which loops of a block are those along the plane, or run once along a window."""
        values = dict(zip(realize.block.iter_vars, realize.iter_values))
        along = _along(realize.block, self._plane)
        for iv, value in values.items():
            if isinstance(value, Var) and value not in self._loops:
                if iv in along:
                    first = iv is along[0]
                    self._loops[value] = value.copy_with_name(value.name) if first else None
                elif iv.iter_type == IterVar.CommReduce and _runs_once(iv):
                    self._loops[value] = None

    def visit_block_realize_(self, op: BlockRealize) -> Stmt:
        block = op.block
        if not block.iter_vars:
            return super().visit_block_realize_(op)
        if not is_one(op.predicate) or block.alloc_buffers or block.match_buffers:
            raise _OtherUseError
        along = _along(block, self._plane)
        once = [iv for iv in block.iter_vars
                if iv.iter_type == IterVar.CommReduce and _runs_once(iv)]  # fmt: skip
        body, init = block.body, block.init
        zeros: dict[Var, PrimExpr] = {iv.var: make_const(0, iv.var.dtype) for iv in once}
        body = substitute(body, zeros)
        self._along_vars = tuple(iv.var for iv in along)
        self._at = self._along_vars[0].copy_with_name(self._along_vars[0].name) if along else None
        body = self.visit_stmt(body)
        init = None if init is None else self.visit_stmt(init)
        iter_vars: list[IterVar] = []
        values: list[PrimExpr] = []
        for iv, value in zip(block.iter_vars, op.iter_values):
            if iv in once or iv in along[1:]:
                if not isinstance(value, Var | IntImm):
                    raise _OtherUseError
                continue
            if along and iv is along[0]:
                run = self._loops.get(value) if isinstance(value, Var) else None
                if run is None or self._at is None:
                    raise _OtherUseError
                domain = Range.from_min_extent(make_const(0, self._at.dtype), self._run)
                iter_vars.append(IterVar(domain, self._at, iv.iter_type, "", iv.span))
                values.append(run)
            else:
                if any(self._loops.get(n, n) is not n for n in vars_in(value)):
                    raise _OtherUseError
                iter_vars.append(iv)
                values.append(value)
        new = change_block(block, iter_vars=iter_vars, body=body, init=init, reads=[], writes=[])
        return BlockRealize(values, op.predicate, with_regions(new), op.span)

    def visit_block_(self, op: Block) -> Stmt:
        """The root: its body, and its buffers in the form of runs."""
        buffers = [self._views.get(buffer, buffer) for buffer in op.alloc_buffers]
        return change_block(op, body=self.visit_stmt(op.body), alloc_buffers=buffers)

    def visit_buffer_load_(self, op: BufferLoad) -> PrimExpr:
        if op.buffer not in self._views:
            return super().visit_buffer_load_(op)
        return BufferLoad(self._views[op.buffer], self._indices(op.indices), None, op.span)

    def visit_buffer_store_(self, op: BufferStore) -> Stmt:
        if op.buffer not in self._views:
            return super().visit_buffer_store_(op)
        value = self.visit_expr(op.value)
        return BufferStore(
            self._views[op.buffer], value, self._indices(op.indices), None, op.span
        )

    def _indices(self, indices: Sequence[PrimExpr]) -> list[PrimExpr]:
        count = len(self._plane)
        last = [self._analyzer.simplify(index) for index in indices[-count:]]
        if self._at is None or any(a is not b for a, b in zip(last, self._along_vars)):
            raise _OtherUseError
        return [*(self.visit_expr(index) for index in indices[:-count]), self._at]

    def visit_var_(self, op: Var) -> PrimExpr:
        if op in self._along_vars:
            raise _OtherUseError
        return op


def _along(block: Block, plane: Sequence[PrimExpr]) -> list[IterVar]:
    """The variables of a block that run along a plane, in the order of its dimensions.

    Those of its result, or those that it sums over.
    """
    for kind in (IterVar.DataPar, IterVar.CommReduce):
        own = [iv for iv in block.iter_vars if iv.iter_type == kind]
        for last in range(len(own), len(plane) - 1, -1):
            found = own[last - len(plane) : last]
            if _ends_in([iv.dom.extent for iv in found if iv.dom is not None], plane):
                return found
    return []


def _runs_once(iv: IterVar) -> bool:
    return iv.dom is not None and is_one(iv.dom.extent) and is_zero(iv.dom.min)
