"""Give all index arithmetic of a function one integer type.

    for i in range(n): B[i + 1] = A[i]        i: int32      ->      i: int64, B[i + T.int64(1)]

Loop and block variables, extents, shapes, strides, offsets and indices change; values that are
stored keep their type and are cast where a changed variable enters them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tvm.ir.expr import PrimExpr, Range
from tvm.support.dtype import DataType

from . import scalar
from .buffer import Buffer
from .expr import (
    BinaryOpExpr,
    BufferLoad,
    Call,
    Cast,
    CmpExpr,
    IntImm,
    IterVar,
    Let,
    Select,
    Var,
    op_name,
)
from .function import PrimFunc
from .functor import StmtExprMutator
from .op.arith import cast, match_types
from .stmt import (
    Block,
    BlockRealize,
    BufferRegion,
    BufferStore,
    For,
    IfThenElse,
    LetStmt,
    MatchBufferRegion,
    Stmt,
)

# functions whose parameters have types of their own
_OF_OTHERS: Final = (
    "tir.call_extern", "tir.call_pure_extern", "tir.call_llvm_intrin", "tir.call_llvm_pure_intrin",
    "tir.tvm_call_packed", "tir.tvm_call_cpacked",
)  # fmt: skip


def with_index_dtype(func: PrimFunc, dtype: DataType) -> PrimFunc:
    """The function with indices of type `dtype`; integer parameters that are extents change too."""
    rule = _IndexDtype(dtype)
    buffer_map = {param: rule.visit_buffer_def(b) for param, b in func.buffer_map.items()}
    body = rule.visit_stmt(func.body)
    params = [rule.vars.get(param, param) for param in func.params]
    return PrimFunc(params, body, func.ret_type, buffer_map, func.attrs, func.span)


class _IndexDtype(StmtExprMutator):
    def __init__(self, dtype: DataType) -> None:
        super().__init__()
        self.dtype = dtype
        self.on = False
        self.deciding = False  # within the condition of a choice
        self.vars: dict[Var, Var] = {}
        self.bound: set[Var] = set()  # by lets, of the type of their value

    def _index(self, visit: Callable[[Any], Any], node: Any) -> Any:
        """Visit a node that stands where an index stands."""
        before, self.on = self.on, True
        new = visit(node)
        self.on = before
        return new

    def index(self, expr: PrimExpr) -> PrimExpr:
        """An index in the wanted type."""
        new: PrimExpr = self._index(self.visit_expr, expr)
        return cast(new, self.dtype) if self._changes(new.dtype) else new

    def condition(self, expr: PrimExpr) -> PrimExpr:
        """The condition of a choice: int32 is compared as indices are, whatever it is read from."""
        before, self.deciding = self.deciding, True
        new = self.visit_expr(expr)
        self.deciding = before
        return new

    def position(self, expr: PrimExpr) -> PrimExpr:
        """An index into a buffer; one that another buffer holds keeps its own type."""
        new: PrimExpr = self._index(self.visit_expr, expr)
        stays = isinstance(new, BufferLoad) or not self._changes(new.dtype)
        return new if stays else cast(new, self.dtype)

    def _changes(self, dtype: DataType) -> bool:
        return dtype.is_int and dtype.is_scalar and dtype is not self.dtype

    # --- expressions ---

    def visit_int_imm_(self, op: IntImm) -> PrimExpr:
        if not self.on or not self._changes(op.dtype):
            return op
        low, high = scalar.int_range(self.dtype)
        return IntImm(self.dtype, op.value, op.span) if low <= op.value <= high else op

    def visit_var_(self, op: Var) -> PrimExpr:
        known = self.vars.get(op)
        if known is not None:
            return known
        if not self.on or not self._changes(op.dtype) or op in self.bound:
            return op
        new = type(op)(op.name, self.dtype, op.span)
        self.vars[op] = new
        return new

    def visit_cast_(self, op: Cast) -> PrimExpr:
        value = self.visit_expr(op.value)
        if not self.on:  # of what becomes wide, a cast of data stays, if it says nothing any more
            return op if value is op.value else Cast(op.dtype, value, op.span)
        target = self.dtype if self._changes(op.dtype) else op.dtype
        return op if value is op.value and target is op.dtype else cast(value, target, op.span)

    def visit_binary_(self, op: BinaryOpExpr) -> PrimExpr:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        if a is op.a and b is op.b:
            return op
        a, b = match_types(a, b)
        return type(op)(a, b, op.span)

    def visit_cmp_(self, op: CmpExpr) -> PrimExpr:
        # numbers beside data keep their type, unless the comparison chooses
        chooses = self.deciding and op.a.dtype.is_int and op.a.dtype.bits >= 32
        before, self.on = self.on, chooses
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        self.on = before
        if a is op.a and b is op.b:
            return op
        a, b = match_types(a, b)
        return type(op)(a, b, op.span)

    def visit_select_(self, op: Select) -> PrimExpr:
        cond = self.condition(op.condition)
        a, b = self.visit_expr(op.true_value), self.visit_expr(op.false_value)
        if cond is op.condition and a is op.true_value and b is op.false_value:
            return op
        return Select(cond, *match_types(a, b), op.span)

    def visit_let_(self, op: Let) -> PrimExpr:
        value = self.visit_expr(op.value)
        if value.dtype is not op.var.dtype:
            self.vars[op.var] = Var(op.var.name, value.dtype, op.var.span)
        else:
            self.bound.add(op.var)
        body = self.visit_expr(op.body)
        if value is op.value and body is op.body:
            return op
        return Let(self.vars.get(op.var, op.var), value, body, op.span)

    def visit_call_(self, op: Call) -> PrimExpr:
        args = [self.visit_expr(a) if isinstance(a, PrimExpr) else a for a in op.args]
        if op_name(op) == "tir.if_then_else":
            args[0] = self.condition(op.args[0])
        if all(now is old for now, old in zip(args, op.args)):
            return op
        kinds = {a.dtype for a in op.args if isinstance(a, PrimExpr)}
        name = op_name(op)
        if name == "tir.if_then_else":
            args[1:] = list(match_types(args[1], args[2]))
            return Call(args[1].dtype, op.op, args, op.span)
        if kinds == {op.dtype} and len(args) == 2 and op.dtype.is_int:
            args = list(match_types(args[0], args[1]))
            return Call(args[0].dtype, op.op, args, op.span)
        if name not in _OF_OTHERS and any(kind.is_handle for kind in kinds):
            return Call(op.dtype, op.op, args, op.span)  # what is beside memory are offsets in it
        # any other operator keeps its own types
        kept = [
            cast(now, old.dtype) if isinstance(old, PrimExpr) else now
            for now, old in zip(args, op.args)
        ]
        return Call(op.dtype, op.op, kept, op.span)

    def visit_buffer_load_(self, op: BufferLoad) -> PrimExpr:
        buffer = self.visit_buffer_use(op.buffer)
        indices = [self.position(i) for i in op.indices]
        if buffer is op.buffer and all(a is b for a, b in zip(indices, op.indices)):
            return op
        return BufferLoad(buffer, indices, op.predicate, op.span)

    # --- what introduces indices ---

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        if not buffer.shape:  # no index reaches into it, and scripts give its offset no type
            return buffer
        return self._index(super().visit_buffer_def, buffer)  # type: ignore[no-any-return]

    def visit_range(self, rng: Range) -> Range:
        low, extent = self.index(rng.min), self.index(rng.extent)
        same = low is rng.min and extent is rng.extent
        return rng if same else Range.from_min_extent(low, extent, rng.span)

    def visit_region(self, region: BufferRegion) -> BufferRegion:
        return self._index(super().visit_region, region)  # type: ignore[no-any-return]

    def visit_for_(self, op: For) -> Stmt:
        low, extent = self.index(op.min), self.index(op.extent)
        var = self._index(self.visit_expr, op.loop_var)
        thread = None if op.thread_binding is None else self._iter_var(op.thread_binding)
        body = self.visit_stmt(op.body)
        return For(var, low, extent, op.kind, body, thread, op.annotations, op.span)

    def visit_block_realize_(self, op: BlockRealize) -> Stmt:
        values = [self.index(value) for value in op.iter_values]
        predicate = self.visit_expr(op.predicate)
        iter_vars = [
            # the stand-in axis of a stage without axes is no index: it keeps its type
            iv if isinstance(value, IntImm) else self._iter_var(iv)
            for iv, value in zip(op.block.iter_vars, op.iter_values)
        ]
        block = self._block(op.block, iter_vars)
        return BlockRealize(values, predicate, block, op.span)

    def _iter_var(self, iv: IterVar) -> IterVar:
        dom = None if iv.dom is None else self.visit_range(iv.dom)
        var = self._index(self.visit_expr, iv.var)
        return IterVar(dom, var, iv.iter_type, iv.thread_tag, iv.span)

    def _block(self, op: Block, iter_vars: list[IterVar]) -> Block:
        allocs = [self.visit_buffer_def(b) for b in op.alloc_buffers]
        matches = [
            MatchBufferRegion(self.visit_buffer_def(m.buffer), self.visit_region(m.source))
            for m in op.match_buffers
        ]
        reads = [self.visit_region(r) for r in op.reads]
        writes = [self.visit_region(r) for r in op.writes]
        init = None if op.init is None else self.visit_stmt(op.init)
        body = self.visit_stmt(op.body)
        return Block(
            iter_vars, reads, writes, op.name_hint, body, init, allocs, matches,
            self.visit_annotations(op.annotations), op.span,
        )  # fmt: skip

    def visit_buffer_store_(self, op: BufferStore) -> Stmt:
        buffer = self.visit_buffer_use(op.buffer)
        indices = [self.position(i) for i in op.indices]
        value = self.visit_expr(op.value)
        if value.dtype is not op.value.dtype:
            value = cast(value, op.value.dtype)
        return BufferStore(buffer, value, indices, op.predicate, op.span)

    def visit_if_then_else_(self, op: IfThenElse) -> Stmt:
        cond = self.condition(op.condition)
        yes = self.visit_stmt(op.then_case)
        no = None if op.else_case is None else self.visit_stmt(op.else_case)
        if cond is op.condition and yes is op.then_case and no is op.else_case:
            return op
        return IfThenElse(cond, yes, no, op.span)

    def visit_let_stmt_(self, op: LetStmt) -> Stmt:
        value = self.visit_expr(op.value)
        if value.dtype is not op.value.dtype:
            value = cast(value, op.value.dtype)
        self.bound.add(op.var)
        return LetStmt(op.var, value, self.visit_stmt(op.body), op.span)
