"""Every access has one index: the element offset in memory.

    A[i, j] = B[i, j]       ->      A_flat[i * 16 + j] = B_flat[i * 16 + j]

Buffers with axis separators keep one index more than they have separators. Truth values are stored
as bytes. The buffers of parameters stay as they are, for they say what a caller has to pass; the
flat ones share their memory. No buffer is declared any more: accesses name the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tvm.arith.analyzer import Analyzer
from tvm.arith.iter_affine_map import iter_map_simplify
from tvm.arith.merge_quotients import merge_quotients
from tvm.error import CheckError
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.module import IRModule
from tvm.ir.node import with_fields
from tvm.ir.transform import PassContext
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.buffer_access import buffer_offset, flattened_buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, walk
from tvm.tir.op import arith as ops

from .analyzed_mutator import as_fact, assume_sizes
from .pass_form import tir_pass

INT8 = DataType("int8")


@tir_pass("tir.FlattenBuffer")
def FlattenBuffer(
    func: PrimFunc, mod: IRModule, ctx: PassContext, *, as_maps: bool = True
) -> PrimFunc:
    """All accesses are one-dimensional afterwards; offsets are written `as_maps` of the loops."""
    return func.with_body(_Flattener(func, as_maps).visit_stmt(func.body))


class _Flattener(StmtExprMutator):
    def __init__(self, func: PrimFunc, as_maps: bool) -> None:
        super().__init__()
        self._analyzer = Analyzer()
        self._as_maps = as_maps
        self._iters: dict[e.Var, Range] = {}  # that run here
        self._holds: PrimExpr = ops.const(True, "bool")  # what conditions around say
        assume_sizes(self._analyzer, func)
        self._flat: dict[Buffer, Buffer] = {}

    def visit_buffer_use(self, buffer: Buffer) -> Buffer:
        flat = self._flat.get(buffer)
        if flat is None:
            flat = flattened_buffer(buffer)
            shape, offset = flat.shape, flat.elem_offset
            zero = offset
            if not ops.is_zero(offset):
                # part of the index from here on: who looks at both would count it twice
                zero = ops.const(0, offset.dtype)
                shape = (*shape[:-1], shape[-1] + offset)
            shape = tuple([self._analyzer.simplify(extent) for extent in shape])
            dtype = INT8.with_lanes(flat.dtype.lanes) if flat.dtype.is_bool else flat.dtype
            changed = dtype is not flat.dtype or zero is not offset or any(
                new is not old for new, old in zip(shape, flat.shape)
            )  # fmt: skip
            if changed or (self._as_maps and flat is buffer):  # each access names the memory
                flat = flat.with_changes(shape=shape, dtype=dtype, elem_offset=zero)
            self._flat[buffer] = flat
        return flat

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        return self.visit_buffer_use(buffer)

    def _index(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> list[PrimExpr]:
        if self._as_maps:
            flat = buffer.offset_of(self.visit_exprs(indices))
            made = iter_map_simplify(flat, self._iters, self._holds)
            return [Analyzer().simplify(i) if i is old else i for i, old in zip(made, flat)]
        if len(indices) == 1 and not buffer.strides and ops.is_zero(buffer.elem_offset):
            return [self.visit_expr(indices[0])]
        indices = tuple([self.visit_expr(i) for i in indices])
        if any(_remainder_of_symbol(index) for index in indices):
            # the offset of a row that was counted in symbols needs no division
            return list(buffer_offset(buffer, indices, self._merged))
        flat = buffer_offset(buffer, indices)
        return [self._analyzer.simplify(i) for i in flat]

    def _merged(self, offset: PrimExpr) -> PrimExpr:
        return merge_quotients(offset, self._analyzer)

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        flat = self.visit_buffer_use(op.buffer)
        indices = self._index(op.buffer, op.indices)
        predicate = None if op.predicate is None else self.visit_expr(op.predicate)
        if flat is op.buffer and len(indices) == 1 and indices[0] is op.indices[0]:
            return op if predicate is op.predicate else e.BufferLoad(
                flat, indices, predicate, op.span
            )  # fmt: skip
        load = e.BufferLoad(flat, indices, predicate, op.span)
        return ops.cast(load, op.dtype, op.span) if op.dtype.is_bool else load

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        flat = self.visit_buffer_use(op.buffer)
        value = self.visit_expr(op.value)
        indices = self._index(op.buffer, op.indices)
        predicate = None if op.predicate is None else self.visit_expr(op.predicate)
        same = flat is op.buffer and value is op.value and predicate is op.predicate
        if same and len(indices) == 1 and indices[0] is op.indices[0]:
            return op
        if value.dtype.is_bool:
            value = ops.cast(value, INT8.with_lanes(value.dtype.lanes, value.dtype.is_scalable))
        return s.BufferStore(flat, value, indices, predicate, op.span)

    def visit_call_(self, op: e.Call) -> PrimExpr:
        # an address is of the bytes as they lie, not of a truth value converted
        if len(op.args) == 1 and isinstance(op.args[0], e.BufferLoad) and _is_address_of(op):
            load = op.args[0]
            flat = self.visit_buffer_use(load.buffer)
            indices = self._index(load.buffer, load.indices)
            return e.Call(op.dtype, op.op, [e.BufferLoad(flat, indices, None, load.span)], op.span)
        if self._as_maps and e.is_call_of(op, "tir.if_then_else") and op.args[0].dtype.is_scalar:
            condition, fact = self.visit_expr(op.args[0]), as_fact(op.args[0])
            with self._where(fact):
                a = self.visit_expr(op.args[1])
            with self._otherwise(fact):
                b = self.visit_expr(op.args[2])
            return with_fields(op, args=(condition, a, b))
        return super().visit_call_(op)

    def visit_region(self, region: s.BufferRegion) -> s.BufferRegion:
        flat = self.visit_buffer_use(region.buffer)
        if flat is region.buffer and not self._as_maps:
            return super().visit_region(region)
        low = self._index(region.buffer, tuple([rng.min for rng in region.region]))
        last = tuple([ops.subtract(ops.add(r.min, r.extent), 1) for r in region.region])
        high = self._index(region.buffer, last)
        return s.BufferRegion(flat, [Range(a, ops.add(b, 1)) for a, b in zip(low, high)])

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        extents = op.extents
        separators = _separators(op)
        dtype = INT8.with_lanes(op.dtype.lanes) if op.dtype.is_bool else op.dtype
        if len(extents) != 1 and not separators:
            total: PrimExpr = ops.const(1, extents[0].dtype if extents else "int32")
            for extent in extents:
                total = ops.multiply(total, extent)
            extents = (self._analyzer.simplify(total),)
        elif separators:
            extents = _grouped(extents, separators)
        extents, condition = self.visit_exprs(extents), self.visit_expr(op.condition)
        body = self.visit_stmt(op.body)
        if extents is op.extents and body is op.body and dtype is op.dtype:
            return op
        return s.Allocate(op.buffer_var, dtype, extents, condition, body, op.annotations, op.span)

    def visit_decl_buffer_(self, op: s.DeclBuffer) -> s.Stmt:
        """Accesses name the memory themselves from here on."""
        body = op.body
        while isinstance(body, s.DeclBuffer):
            body = body.body
        return self.visit_stmt(body)

    def _bind(self, var: e.Var, dom: Range) -> None:
        self._analyzer.bind(var, dom, allow_override=True)
        if self._as_maps:
            self._iters[var] = dom

    def visit_for_(self, op: s.For) -> s.Stmt:
        self._bind(op.loop_var, Range.from_min_extent(op.min, op.extent))
        stmt = super().visit_for_(op)
        self._iters.pop(op.loop_var, None)
        return stmt

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        thread = op.attr_key in ("thread_extent", "virtual_thread")
        if thread and isinstance(op.node, e.IterVar) and self._as_maps:
            self._bind(op.node.var, Range(ops.const(0, op.value.dtype), op.value))
        return super().visit_attr_stmt_(op)

    def visit_if_then_else_(self, op: s.IfThenElse) -> s.Stmt:
        if not self._as_maps:
            return super().visit_if_then_else_(op)
        condition, fact = self.visit_expr(op.condition), as_fact(op.condition)
        with self._where(fact):
            then_case = self.visit_stmt(op.then_case)
        else_case = op.else_case
        if else_case is not None:
            with self._otherwise(fact):
                else_case = self.visit_stmt(else_case)
        return with_fields(op, condition=condition, then_case=then_case, else_case=else_case)

    @contextmanager
    def _where(self, fact: PrimExpr) -> Iterator[None]:
        """Code that runs where the fact holds."""
        outer, self._holds = self._holds, ops.logical_and(self._holds, fact)
        with self._analyzer.constraint_scope(fact):
            yield
        self._holds = outer

    @contextmanager
    def _otherwise(self, fact: PrimExpr) -> Iterator[None]:
        """Code that runs where the fact does not hold, which limits no map."""
        outer, self._holds = self._holds, ops.const(True, "bool")
        with self._analyzer.constraint_scope(ops.logical_not(fact)):
            yield
        self._holds = outer

    def visit_block_(self, op: s.Block) -> s.Stmt:
        if op.match_buffers:
            raise CheckError(
                "Unexpected MatchBufferRegion found during tir.transform.FlattenBuffer, in block "
                f"{op.name_hint!r}. All MatchBufferRegion should be removed in "
                "tir.transform.LowerMatchBuffer."
            )
        for iv in op.iter_vars:
            if iv.dom is not None:
                self._analyzer.bind(iv.var, iv.dom, allow_override=True)
        return super().visit_block_(op)


def _is_address_of(op: e.Call) -> bool:
    return e.is_call_of(op, "tir.address_of")


def _separators(op: s.Allocate) -> tuple[int, ...]:
    """The axis separators of the buffer that the allocation is made for."""
    body = op.body
    if isinstance(body, s.DeclBuffer) and body.buffer.data is op.buffer_var:
        return tuple(int(i) for i in body.buffer.axis_separators)
    return ()


def _grouped(extents: tuple[PrimExpr, ...], cuts: tuple[int, ...]) -> tuple[PrimExpr, ...]:
    groups = []
    for begin, end in zip((0, *cuts), (*cuts, len(extents))):
        total: PrimExpr = ops.const(1, "int32")
        for extent in extents[begin:end]:
            total = ops.multiply(total, extent)
        groups.append(total)
    return tuple(groups)


def _remainder_of_symbol(index: PrimExpr) -> bool:
    return any(isinstance(n, e.FloorMod) and not isinstance(n.b, e.IntImm) for n in walk(index))
