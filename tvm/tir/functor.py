"""Walks over TIR: visitors for questions, a mutator for passes; `walk` is in children.py.

Dispatch is by `node.accept(functor)`, which calls the method named for the node. Chains of
arithmetic deeper than `DEEP` are walked with an explicit stack, so a sum of thousands of terms
needs no Python recursion; statements in sequence are walked with a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar, cast

from tvm.ffi.object import as_object
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.node import Node
from tvm.support.arguments import explained
from tvm.support.compiled import mypyc_attr
from tvm.support.derived import derived

from . import expr as e
from . import stmt as s
from .buffer import Buffer
from .children import buffer_exprs as buffer_exprs
from .children import children as children
from .children import distinct as distinct
from .children import expr_children as expr_children
from .children import statements as statements
from .children import stmt_children as stmt_children
from .children import uses_any as uses_any
from .children import uses_var as uses_var
from .children import vars_in as vars_in
from .children import walk as walk
from .function import PrimFunc

E = TypeVar("E")
S = TypeVar("S")
DEEP: Final = 60


@mypyc_attr(allow_interpreted_subclasses=True)
class TirFunctor(Generic[E, S]):
    """One method a node kind; `visit_expr` and `visit_stmt` find the right one."""

    def visit_expr(self, expr: PrimExpr) -> E:
        """Call the method for the kind of `expr`."""
        result: E = expr.accept(self)
        return result

    def visit_stmt(self, stmt: s.Stmt) -> S:
        """Call the method for the kind of `stmt`."""
        return stmt.accept(self)

    def visit_expr_default_(self, op: PrimExpr) -> E:
        """Called for an expression kind that has no method of its own here."""
        raise TypeError(f"{type(self).__name__} has no rule for {type(op).__name__}")

    def visit_stmt_default_(self, op: s.Stmt) -> S:
        """Called for a statement kind that has no method of its own here."""
        raise TypeError(f"{type(self).__name__} has no rule for {type(op).__name__}")

    def visit_var_(self, op: e.Var) -> E:
        return self.visit_expr_default_(op)

    def visit_size_var_(self, op: e.SizeVar) -> E:
        return self.visit_var_(op)

    def visit_int_imm_(self, op: e.IntImm) -> E:
        return self.visit_expr_default_(op)

    def visit_float_imm_(self, op: e.FloatImm) -> E:
        return self.visit_expr_default_(op)

    def visit_string_imm_(self, op: e.StringImm) -> E:
        return self.visit_expr_default_(op)

    def visit_cast_(self, op: e.Cast) -> E:
        return self.visit_expr_default_(op)

    def visit_binary_(self, op: e.BinaryOpExpr) -> E:
        """The common rule of arithmetic."""
        return self.visit_expr_default_(op)

    def visit_add_(self, op: e.Add) -> E:
        return self.visit_binary_(op)

    def visit_sub_(self, op: e.Sub) -> E:
        return self.visit_binary_(op)

    def visit_mul_(self, op: e.Mul) -> E:
        return self.visit_binary_(op)

    def visit_div_(self, op: e.Div) -> E:
        return self.visit_binary_(op)

    def visit_mod_(self, op: e.Mod) -> E:
        return self.visit_binary_(op)

    def visit_floor_div_(self, op: e.FloorDiv) -> E:
        return self.visit_binary_(op)

    def visit_floor_mod_(self, op: e.FloorMod) -> E:
        return self.visit_binary_(op)

    def visit_min_(self, op: e.Min) -> E:
        return self.visit_binary_(op)

    def visit_max_(self, op: e.Max) -> E:
        return self.visit_binary_(op)

    def visit_cmp_(self, op: e.CmpExpr) -> E:
        """The common rule of comparisons."""
        return self.visit_expr_default_(op)

    def visit_eq_(self, op: e.EQ) -> E:
        return self.visit_cmp_(op)

    def visit_ne_(self, op: e.NE) -> E:
        return self.visit_cmp_(op)

    def visit_lt_(self, op: e.LT) -> E:
        return self.visit_cmp_(op)

    def visit_le_(self, op: e.LE) -> E:
        return self.visit_cmp_(op)

    def visit_gt_(self, op: e.GT) -> E:
        return self.visit_cmp_(op)

    def visit_ge_(self, op: e.GE) -> E:
        return self.visit_cmp_(op)

    def visit_and_(self, op: e.And) -> E:
        return self.visit_expr_default_(op)

    def visit_or_(self, op: e.Or) -> E:
        return self.visit_expr_default_(op)

    def visit_not_(self, op: e.Not) -> E:
        return self.visit_expr_default_(op)

    def visit_select_(self, op: e.Select) -> E:
        return self.visit_expr_default_(op)

    def visit_buffer_load_(self, op: e.BufferLoad) -> E:
        return self.visit_expr_default_(op)

    def visit_producer_load_(self, op: e.ProducerLoad) -> E:
        return self.visit_expr_default_(op)

    def visit_ramp_(self, op: e.Ramp) -> E:
        return self.visit_expr_default_(op)

    def visit_broadcast_(self, op: e.Broadcast) -> E:
        return self.visit_expr_default_(op)

    def visit_shuffle_(self, op: e.Shuffle) -> E:
        return self.visit_expr_default_(op)

    def visit_call_(self, op: e.Call) -> E:
        return self.visit_expr_default_(op)

    def visit_let_(self, op: e.Let) -> E:
        return self.visit_expr_default_(op)

    def visit_reduce_(self, op: e.Reduce) -> E:
        return self.visit_expr_default_(op)

    def visit_attr_stmt_(self, op: s.AttrStmt) -> S:
        return self.visit_stmt_default_(op)

    def visit_if_then_else_(self, op: s.IfThenElse) -> S:
        return self.visit_stmt_default_(op)

    def visit_let_stmt_(self, op: s.LetStmt) -> S:
        return self.visit_stmt_default_(op)

    def visit_for_(self, op: s.For) -> S:
        return self.visit_stmt_default_(op)

    def visit_while_(self, op: s.While) -> S:
        return self.visit_stmt_default_(op)

    def visit_allocate_(self, op: s.Allocate) -> S:
        return self.visit_stmt_default_(op)

    def visit_allocate_const_(self, op: s.AllocateConst) -> S:
        return self.visit_stmt_default_(op)

    def visit_decl_buffer_(self, op: s.DeclBuffer) -> S:
        return self.visit_stmt_default_(op)

    def visit_buffer_store_(self, op: s.BufferStore) -> S:
        return self.visit_stmt_default_(op)

    def visit_buffer_realize_(self, op: s.BufferRealize) -> S:
        return self.visit_stmt_default_(op)

    def visit_assert_stmt_(self, op: s.AssertStmt) -> S:
        return self.visit_stmt_default_(op)

    def visit_seq_stmt_(self, op: s.SeqStmt) -> S:
        return self.visit_stmt_default_(op)

    def visit_evaluate_(self, op: s.Evaluate) -> S:
        return self.visit_stmt_default_(op)

    def visit_block_(self, op: s.Block) -> S:
        return self.visit_stmt_default_(op)

    def visit_block_realize_(self, op: s.BlockRealize) -> S:
        return self.visit_stmt_default_(op)


@explained
def post_order_visit(stmt: Any, fvisit: Callable[[Any], object]) -> None:
    """Call `fvisit` on every distinct node in `stmt`, children first, each node once."""
    done: set[int] = set()
    stack: list[tuple[Node, bool]] = [(as_object(stmt), False)]
    while stack:
        current, entered = stack.pop()
        if entered:
            if id(current) not in done:
                done.add(id(current))
                fvisit(current)
        elif id(current) not in done:
            stack.append((current, True))
            stack.extend([(child, False) for child in children(current)[::-1]])


@explained
def pre_order_visit(stmt: Any, fvisit: Callable[[Any], bool]) -> None:
    """Call `fvisit` on nodes, parents first; children are skipped where it returns False."""
    done: set[int] = set()
    stack: list[Node] = [as_object(stmt)]
    while stack:
        current = stack.pop()
        if id(current) in done:
            continue
        done.add(id(current))
        if fvisit(current):
            stack.extend(reversed(children(current)))


# Kinds whose children may be visited before the node itself when a chain is too deep to recurse:
# they bind no variable. (A functor that reads conditions as facts knows less there, never wrongly.)
_PLAIN: Final = (
    e.BinaryOpExpr, e.CmpExpr, e.Cast, e.Select, e.Call, e.And, e.Or, e.Not, e.Broadcast,
)  # fmt: skip


def _plain_post_order(expr: PrimExpr) -> list[PrimExpr]:
    """The plain nodes below `expr`, children first, without `expr` itself."""
    found: list[PrimExpr] = []
    stack: list[PrimExpr] = [expr]
    while stack:
        current = stack.pop()
        if isinstance(current, _PLAIN):
            found.append(current)
            stack.extend(expr_children(current))
    found.reverse()
    return found[:-1]


@mypyc_attr(allow_interpreted_subclasses=True)
class StmtExprVisitor(TirFunctor[None, None]):
    """Visits everything; a subclass overrides the kinds it cares for."""

    def __init__(self) -> None:
        self._depth = 0
        self._done: set[int] | None = None

    def visit_expr(self, expr: PrimExpr) -> None:
        depth = self._depth
        if depth >= DEEP:
            self._visit_deep(expr)
            return
        self._depth = depth + 1
        expr.accept(self)
        self._depth = depth

    def _visit_deep(self, expr: PrimExpr) -> None:
        done = self._done
        if done is not None and id(expr) in done:
            return
        outer, mine = done, set() if done is None else done
        self._done = mine
        for node in _plain_post_order(expr):
            if id(node) not in mine:
                node.accept(self)
                mine.add(id(node))
        if not isinstance(expr, _PLAIN):
            self._depth = 0  # a scope of its own: recursion starts afresh
            self._done = None
            expr.accept(self)
            self._depth = DEEP
        else:
            expr.accept(self)
        self._done = outer

    def visit_exprs(self, exprs: Sequence[PrimExpr]) -> None:
        """Visit each expression."""
        for expr in exprs:
            self.visit_expr(expr)

    def visit_buffer_def(self, buffer: Buffer) -> None:
        """Called where a buffer is introduced."""
        self.visit_exprs(buffer_exprs(buffer))

    def visit_buffer_use(self, buffer: Buffer) -> None:
        """Called where a buffer is read, written or named in a region."""

    def visit_range(self, rng: Range) -> None:
        """Visit both ends."""
        self.visit_expr(rng.min)
        self.visit_expr(rng.extent)

    def visit_expr_default_(self, op: PrimExpr) -> None:
        for child in expr_children(op):
            self.visit_expr(child)

    def visit_var_(self, op: e.Var) -> None: ...

    def visit_int_imm_(self, op: e.IntImm) -> None: ...

    def visit_binary_(self, op: e.BinaryOpExpr) -> None:
        self.visit_expr(op.a)
        self.visit_expr(op.b)

    def visit_buffer_load_(self, op: e.BufferLoad) -> None:
        self.visit_buffer_use(op.buffer)
        for index in op.indices:
            self.visit_expr(index)
        if op.predicate is not None:
            self.visit_expr(op.predicate)

    def visit_stmt_default_(self, op: s.Stmt) -> None:
        for child in stmt_children(op):
            if isinstance(child, s.Stmt):
                self.visit_stmt(child)
            else:
                self.visit_expr(child)

    def visit_buffer_store_(self, op: s.BufferStore) -> None:
        self.visit_buffer_use(op.buffer)
        self.visit_stmt_default_(op)

    def visit_buffer_realize_(self, op: s.BufferRealize) -> None:
        self.visit_buffer_use(op.buffer)
        self.visit_stmt_default_(op)

    def visit_decl_buffer_(self, op: s.DeclBuffer) -> None:
        self.visit_buffer_def(op.buffer)
        self.visit_stmt(op.body)

    def visit_region(self, region: s.BufferRegion) -> None:
        """Visit a region that a block reads or writes."""
        self.visit_buffer_use(region.buffer)
        for rng in region.region:
            self.visit_range(rng)

    def visit_block_(self, op: s.Block) -> None:
        for iter_var in op.iter_vars:
            if iter_var.dom is not None:
                self.visit_range(iter_var.dom)
        for buffer in op.alloc_buffers:
            self.visit_buffer_def(buffer)
        for match in op.match_buffers:
            self.visit_region(match.source)
            self.visit_buffer_def(match.buffer)
        for region in (*op.reads, *op.writes):
            self.visit_region(region)
        if op.init is not None:
            self.visit_stmt(op.init)
        self.visit_stmt(op.body)


@mypyc_attr(allow_interpreted_subclasses=True)
class StmtExprMutator(TirFunctor[PrimExpr, s.Stmt]):
    """Rebuilds what its rules change and returns the same object where nothing changed.

    A buffer that changes at its definition is replaced at every use below it. New nodes take the
    span of those they replace.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._done: dict[int, PrimExpr] | None = None
        self.buffers: dict[Buffer, Buffer] = {}

    # --- expressions ---

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        depth = self._depth
        if depth >= DEEP:
            return self._visit_deep(expr)
        self._depth = depth + 1
        result: PrimExpr = expr.accept(self)
        self._depth = depth
        return result

    def _visit_deep(self, expr: PrimExpr) -> PrimExpr:
        done = self._done
        if done is not None:
            known = done.get(id(expr))
            if known is not None:
                return known
        mine: dict[int, PrimExpr] = {} if done is None else done
        self._done = mine
        for node in _plain_post_order(expr):
            if id(node) not in mine:
                mine[id(node)] = node.accept(self)
        result: PrimExpr
        if not isinstance(expr, _PLAIN):
            self._depth = 0  # a scope of its own: recursion starts afresh
            self._done = None
            result = expr.accept(self)
            self._depth = DEEP
        else:
            result = expr.accept(self)
        self._done = done
        return result

    def visit_exprs(self, exprs: tuple[PrimExpr, ...]) -> tuple[PrimExpr, ...]:
        """The rewritten expressions; the same tuple when none changed."""
        new = [self.visit_expr(expr) for expr in exprs]
        for old, now in zip(exprs, new):
            if old is not now:
                return tuple(new)
        return exprs

    def visit_var_(self, op: e.Var) -> PrimExpr:
        return op

    def visit_int_imm_(self, op: e.IntImm) -> PrimExpr:
        return op

    def visit_float_imm_(self, op: e.FloatImm) -> PrimExpr:
        return op

    def visit_string_imm_(self, op: e.StringImm) -> PrimExpr:
        return op

    def visit_cast_(self, op: e.Cast) -> PrimExpr:
        value = self.visit_expr(op.value)
        return op if value is op.value else e.Cast(op.dtype, value, op.span)

    def visit_binary_(self, op: e.BinaryOpExpr) -> PrimExpr:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        return op if a is op.a and b is op.b else type(op)(a, b, op.span)

    def visit_cmp_(self, op: e.CmpExpr) -> PrimExpr:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        return op if a is op.a and b is op.b else type(op)(a, b, op.span)

    def visit_and_(self, op: e.And) -> PrimExpr:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        return op if a is op.a and b is op.b else e.And(a, b, op.span)

    def visit_or_(self, op: e.Or) -> PrimExpr:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        return op if a is op.a and b is op.b else e.Or(a, b, op.span)

    def visit_not_(self, op: e.Not) -> PrimExpr:
        a = self.visit_expr(op.a)
        return op if a is op.a else e.Not(a, op.span)

    def visit_select_(self, op: e.Select) -> PrimExpr:
        cond = self.visit_expr(op.condition)
        true_value, false_value = self.visit_expr(op.true_value), self.visit_expr(op.false_value)
        if (
            cond is op.condition
            and true_value is op.true_value
            and false_value is op.false_value
        ):
            return op
        return e.Select(cond, true_value, false_value, op.span)

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        buffer = self.visit_buffer_use(op.buffer)
        indices = self.visit_exprs(op.indices)
        predicate = None if op.predicate is None else self.visit_expr(op.predicate)
        if buffer is op.buffer and indices is op.indices and predicate is op.predicate:
            return op
        return e.BufferLoad(buffer, indices, predicate, op.span)

    def visit_producer_load_(self, op: e.ProducerLoad) -> PrimExpr:
        indices = self.visit_exprs(op.indices)
        return op if indices is op.indices else e.ProducerLoad(op.producer, indices, op.span)

    def visit_ramp_(self, op: e.Ramp) -> PrimExpr:
        base, stride = self.visit_expr(op.base), self.visit_expr(op.stride)
        lanes = self.visit_expr(op.lanes)
        if base is op.base and stride is op.stride and lanes is op.lanes:
            return op
        return e.Ramp(base, stride, lanes, op.span)

    def visit_broadcast_(self, op: e.Broadcast) -> PrimExpr:
        value, lanes = self.visit_expr(op.value), self.visit_expr(op.lanes)
        if value is op.value and lanes is op.lanes:
            return op
        return e.Broadcast(value, lanes, op.span)

    def visit_shuffle_(self, op: e.Shuffle) -> PrimExpr:
        vectors, indices = self.visit_exprs(op.vectors), self.visit_exprs(op.indices)
        if vectors is op.vectors and indices is op.indices:
            return op
        return e.Shuffle(vectors, indices, op.span)

    def visit_call_(self, op: e.Call) -> PrimExpr:
        args = [self.visit_expr(a) if isinstance(a, PrimExpr) else a for a in op.args]
        for old, now in zip(op.args, args):
            if old is not now:
                return e.Call(op.dtype, op.op, args, op.span)
        return op

    def visit_let_(self, op: e.Let) -> PrimExpr:
        value = self.visit_expr(op.value)
        var = self.visit_var_def(op.var)
        body = self.visit_expr(op.body)
        if value is op.value and body is op.body and var is op.var:
            return op
        return e.Let(var, value, body, op.span)

    def visit_reduce_(self, op: e.Reduce) -> PrimExpr:
        axis = self.visit_iter_vars(op.axis)
        source, init = self.visit_exprs(op.source), self.visit_exprs(op.init)
        condition = self.visit_expr(op.condition)
        same = axis is op.axis and source is op.source and init is op.init
        if same and condition is op.condition:
            return op
        return e.Reduce(op.combiner, source, axis, condition, op.value_index, init, op.span)

    # --- pieces shared by several nodes ---

    def visit_var_def(self, var: e.Var) -> e.Var:
        """Called where a variable is bound; may return another variable."""
        return var

    def visit_range(self, rng: Range) -> Range:
        """A range with both ends rewritten."""
        low, extent = self.visit_expr(rng.min), self.visit_expr(rng.extent)
        if low is rng.min and extent is rng.extent:
            return rng
        return Range.from_min_extent(low, extent, rng.span)

    def visit_ranges(self, ranges: tuple[Range, ...]) -> tuple[Range, ...]:
        """The rewritten ranges; the same tuple when none changed."""
        new = [self.visit_range(rng) for rng in ranges]
        for old, now in zip(ranges, new):
            if old is not now:
                return tuple(new)
        return ranges

    def visit_iter_vars(self, iter_vars: tuple[e.IterVar, ...]) -> tuple[e.IterVar, ...]:
        """Iteration variables with their domains rewritten."""
        new = [self._visit_iter_var(iv) for iv in iter_vars]
        for old, now in zip(iter_vars, new):
            if old is not now:
                return tuple(new)
        return iter_vars

    def _visit_iter_var(self, iv: e.IterVar) -> e.IterVar:
        dom = None if iv.dom is None else self.visit_range(iv.dom)
        var = self.visit_var_def(iv.var)
        if dom is iv.dom and var is iv.var:
            return iv
        return e.IterVar(dom, var, iv.iter_type, iv.thread_tag, iv.span)

    def visit_buffer_use(self, buffer: Buffer) -> Buffer:
        """The buffer that replaces `buffer` where it is read or written."""
        return self.buffers.get(buffer, buffer) if self.buffers else buffer

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        """The buffer that replaces `buffer` from its definition on."""
        shape, strides = self.visit_exprs(buffer.shape), self.visit_exprs(buffer.strides)
        offset, data = self.visit_expr(buffer.elem_offset), self.visit_expr(buffer.data)
        if (
            shape is buffer.shape
            and strides is buffer.strides
            and offset is buffer.elem_offset
            and data is buffer.data
        ):
            return buffer
        new = buffer.with_changes(shape=shape, strides=strides, elem_offset=offset, data=data)
        self.buffers[buffer] = new
        return new

    def visit_region(self, region: s.BufferRegion) -> s.BufferRegion:
        """A region with buffer and ranges rewritten."""
        buffer, ranges = self.visit_buffer_use(region.buffer), self.visit_ranges(region.region)
        if buffer is region.buffer and ranges is region.region:
            return region
        return s.BufferRegion(buffer, ranges)

    def _visit_regions(
        self, regions: tuple[s.BufferRegion, ...]
    ) -> tuple[s.BufferRegion, ...]:
        new = [self.visit_region(region) for region in regions]
        for old, now in zip(regions, new):
            if old is not now:
                return tuple(new)
        return regions

    def visit_annotations(self, annotations: Any) -> Any:
        """Annotation values that are expressions, and buffers that they name, are rewritten too."""
        changed = {key: self._annotation(value) for key, value in annotations.items()}
        if all(annotations[key] is value for key, value in changed.items()):
            return annotations
        return changed

    def _annotation(self, value: Any) -> Any:
        if isinstance(value, PrimExpr):
            return self.visit_expr(value)
        if isinstance(value, Buffer):
            return self.visit_buffer_use(value)
        if isinstance(value, tuple):
            parts = tuple(self._annotation(part) for part in value)
            return value if all(a is b for a, b in zip(parts, value)) else parts
        return value

    # --- statements ---

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        node: object = op.node
        if isinstance(node, PrimExpr):
            node = self.visit_expr(node)
        elif isinstance(node, Buffer):
            node = self.visit_buffer_use(node)
        value, body = self.visit_expr(op.value), self.visit_stmt(op.body)
        if node is op.node and value is op.value and body is op.body:
            return op
        return s.AttrStmt(node, op.attr_key, value, body, op.span)

    def visit_if_then_else_(self, op: s.IfThenElse) -> s.Stmt:
        cond, then_case = self.visit_expr(op.condition), self.visit_stmt(op.then_case)
        else_case = None if op.else_case is None else self.visit_stmt(op.else_case)
        if cond is op.condition and then_case is op.then_case and else_case is op.else_case:
            return op
        return s.IfThenElse(cond, then_case, else_case, op.span)

    def visit_let_stmt_(self, op: s.LetStmt) -> s.Stmt:
        value = self.visit_expr(op.value)
        var = self.visit_var_def(op.var)
        body = self.visit_stmt(op.body)
        if value is op.value and body is op.body and var is op.var:
            return op
        return s.LetStmt(var, value, body, op.span)

    def visit_for_(self, op: s.For) -> s.Stmt:
        low, extent = self.visit_expr(op.min), self.visit_expr(op.extent)
        var = self.visit_var_def(op.loop_var)
        binding = None if op.thread_binding is None else self._visit_iter_var(op.thread_binding)
        annotations = self.visit_annotations(op.annotations) if op.annotations else op.annotations
        body = self.visit_stmt(op.body)
        same = low is op.min and extent is op.extent and body is op.body and var is op.loop_var
        if same and binding is op.thread_binding and annotations is op.annotations:
            return op
        return s.For(var, low, extent, op.kind, body, binding, annotations, op.span)

    def visit_while_(self, op: s.While) -> s.Stmt:
        cond, body = self.visit_expr(op.condition), self.visit_stmt(op.body)
        if cond is op.condition and body is op.body:
            return op
        return s.While(cond, body, op.span)

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        extents, cond = self.visit_exprs(op.extents), self.visit_expr(op.condition)
        var = self.visit_var_def(op.buffer_var)
        body = self.visit_stmt(op.body)
        same = extents is op.extents and cond is op.condition and body is op.body
        if same and var is op.buffer_var:
            return op
        return s.Allocate(var, op.dtype, extents, cond, body, op.annotations, op.span)

    def visit_allocate_const_(self, op: s.AllocateConst) -> s.Stmt:
        extents, body = self.visit_exprs(op.extents), self.visit_stmt(op.body)
        if extents is op.extents and body is op.body:
            return op
        source = (op.data, op.irmod_storage_idx)
        return s.AllocateConst(
            op.buffer_var, op.dtype, extents, source, body, op.annotations, op.span
        )

    def visit_decl_buffer_(self, op: s.DeclBuffer) -> s.Stmt:
        buffer, body = self.visit_buffer_def(op.buffer), self.visit_stmt(op.body)
        if buffer is op.buffer and body is op.body:
            return op
        return s.DeclBuffer(buffer, body, op.span)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        buffer, value = self.visit_buffer_use(op.buffer), self.visit_expr(op.value)
        indices = self.visit_exprs(op.indices)
        predicate = None if op.predicate is None else self.visit_expr(op.predicate)
        same = buffer is op.buffer and value is op.value and indices is op.indices
        if same and predicate is op.predicate:
            return op
        return s.BufferStore(buffer, value, indices, predicate, op.span)

    def visit_buffer_realize_(self, op: s.BufferRealize) -> s.Stmt:
        buffer, bounds = self.visit_buffer_use(op.buffer), self.visit_ranges(op.bounds)
        cond, body = self.visit_expr(op.condition), self.visit_stmt(op.body)
        same = buffer is op.buffer and bounds is op.bounds
        if same and cond is op.condition and body is op.body:
            return op
        return s.BufferRealize(buffer, bounds, cond, body, op.span)

    def visit_assert_stmt_(self, op: s.AssertStmt) -> s.Stmt:
        cond, message = self.visit_expr(op.condition), self.visit_expr(op.message)
        body = self.visit_stmt(op.body)
        if cond is op.condition and message is op.message and body is op.body:
            return op
        return s.AssertStmt(cond, message, body, op.span)

    def visit_seq_stmt_(self, op: s.SeqStmt) -> s.Stmt:
        new = [self.visit_stmt(stmt) for stmt in op.seq]
        for old, now in zip(op.seq, new):
            if old is not now:
                flat = s.SeqStmt.flatten(new)
                return s.SeqStmt(flat.seq, op.span) if isinstance(flat, s.SeqStmt) else flat
        return op

    def visit_evaluate_(self, op: s.Evaluate) -> s.Stmt:
        value = self.visit_expr(op.value)
        return op if value is op.value else s.Evaluate(value, op.span)

    def _visit_matches(
        self, matches: tuple[s.MatchBufferRegion, ...]
    ) -> tuple[s.MatchBufferRegion, ...]:
        new = []
        for match in matches:
            source, buffer = self.visit_region(match.source), self.visit_buffer_def(match.buffer)
            same = source is match.source and buffer is match.buffer
            new.append(match if same else s.MatchBufferRegion(buffer, source))
        for old, now in zip(matches, new):
            if old is not now:
                return tuple(new)
        return matches

    def _visit_allocs(self, buffers: tuple[Buffer, ...]) -> tuple[Buffer, ...]:
        new = [self.visit_buffer_def(buffer) for buffer in buffers]
        for old, now in zip(buffers, new):
            if old is not now:
                return tuple(new)
        return buffers

    def visit_block_(self, op: s.Block) -> s.Stmt:
        iter_vars = self.visit_iter_vars(op.iter_vars)
        allocs = self._visit_allocs(op.alloc_buffers)
        matches = self._visit_matches(op.match_buffers)
        reads, writes = self._visit_regions(op.reads), self._visit_regions(op.writes)
        annotations = self.visit_annotations(op.annotations) if op.annotations else op.annotations
        init = None if op.init is None else self.visit_init(op.init)
        body = self.visit_stmt(op.body)
        if (
            iter_vars is op.iter_vars
            and allocs is op.alloc_buffers
            and matches is op.match_buffers
            and reads is op.reads
            and writes is op.writes
            and annotations is op.annotations
            and init is op.init
            and body is op.body
        ):
            return op
        return s.Block(
            iter_vars, reads, writes, op.name_hint, body, init, allocs, matches, annotations,
            op.span,
        )  # fmt: skip

    def visit_init(self, init: s.Stmt) -> s.Stmt:
        """What a block does before its first iteration alone."""
        return self.visit_stmt(init)

    def visit_block_realize_(self, op: s.BlockRealize) -> s.Stmt:
        values, predicate = self.visit_exprs(op.iter_values), self.visit_expr(op.predicate)
        block = self.visit_stmt(op.block)
        if values is op.iter_values and predicate is op.predicate and block is op.block:
            return op
        if not isinstance(block, s.Block):
            return block  # a rule replaced the block by plain statements
        return s.BlockRealize(values, predicate, block, op.span)


# The names under which users subclass them, and those of the objects that do their walks.
PyStmtExprVisitor = StmtExprVisitor
PyStmtExprMutator = StmtExprMutator
_PyStmtExprVisitor = StmtExprVisitor
_PyStmtExprMutator = StmtExprMutator
C = TypeVar("C", bound=type)


def visitor(cls: C) -> C:
    """Marks a visitor class; `_cls` of it is the class as written."""
    return derived(cls)


def mutator(cls: C) -> C:
    """Marks a mutator class; `_cls` of it is the class as written."""
    return derived(cls)


@mypyc_attr(allow_interpreted_subclasses=True)
class Substituter(StmtExprMutator):
    """Replaces variables by expressions, in buffers' shapes and addresses too."""

    def __init__(self, values: Mapping[e.Var, PrimExpr]) -> None:
        super().__init__()
        self._values = values

    def visit_var_(self, op: e.Var) -> PrimExpr:
        return self._values.get(op, op)

    def visit_var_def(self, var: e.Var) -> e.Var:
        new = self._values.get(var)
        return new if isinstance(new, e.Var) else var

    def visit_buffer_use(self, buffer: Buffer) -> Buffer:
        known = self.buffers.get(buffer)
        if known is None:
            # buffers without a definition in sight (flattened code) change at their first use
            known = self.visit_buffer_def(buffer)
            self.buffers[buffer] = known
        return known


N = TypeVar("N")


def substitute(node: N, vmap: Mapping[e.Var, e.ExprLike] | Callable[[e.Var], Any]) -> N:
    """`node` with variables replaced: by a mapping, or by a function that may return None."""
    if callable(vmap):
        found = {n: vmap(n) for n in walk(as_object(node)) if isinstance(n, e.Var)}
        values = {var: e.as_expr(value) for var, value in found.items() if value is not None}
    else:
        values = {var: e.as_expr(value) for var, value in vmap.items()}
    if not values:
        return cast(N, as_object(node))
    return rewrite(Substituter(values), node)


def rewrite(rule: StmtExprMutator, node: N) -> N:
    """Apply a mutator to an expression, statement, range, region, or a function's body."""
    node = cast(N, as_object(node))
    if isinstance(node, PrimExpr):
        return cast(N, rule.visit_expr(node))
    if isinstance(node, s.Stmt):
        return cast(N, rule.visit_stmt(node))
    if isinstance(node, PrimFunc):
        buffer_map = {var: rule.visit_buffer_def(b) for var, b in node.buffer_map.items()}
        if all(buffer_map[var] is b for var, b in node.buffer_map.items()):
            return cast(N, node.with_body(rule.visit_stmt(node.body)))
        body = rule.visit_stmt(node.body)
        return cast(
            N, PrimFunc(node.params, body, node.ret_type, buffer_map, node.attrs, node.span)
        )
    if isinstance(node, Range):
        return cast(N, rule.visit_range(node))
    if isinstance(node, s.BufferRegion):
        return cast(N, rule.visit_region(node))
    if isinstance(node, (list, tuple)):
        return cast(N, type(node)([rewrite(rule, part) for part in node]))
    raise TypeError(f"cannot rewrite a {type(node).__name__}; legal: PrimExpr, Stmt, PrimFunc")


class _IRTransform(StmtExprMutator):
    def __init__(
        self,
        preorder: Callable[[Any], Any] | None,
        postorder: Callable[[Any], Any] | None,
        only: tuple[type, ...] | None,
    ) -> None:
        super().__init__()
        self._preorder, self._postorder, self._only = preorder, postorder, only

    def _around(self, node: Any) -> Any:
        wanted = self._only is None or isinstance(node, self._only)
        if wanted and self._preorder is not None:
            replaced = self._preorder(node)
            if replaced is not None:
                return replaced
        new = node.accept(self)
        if wanted and self._postorder is not None:
            replaced = self._postorder(new)
            if replaced is not None:
                return replaced
        return new

    def visit_stmt(self, stmt: s.Stmt) -> s.Stmt:
        return cast(s.Stmt, self._around(stmt))

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return cast(PrimExpr, self._around(expr))


@explained
def ir_transform(
    stmt: N,
    preorder: Callable[[Any], Any] | None,
    postorder: Callable[[Any], Any] | None,
    only_enable: Sequence[str] | None = None,
) -> N:
    """`stmt` rewritten by functions called before and after the children of each node.

    `preorder` may return a replacement, which ends the descent there; both may return None for no
    change. `only_enable` names the node kinds (`tir.For`) for which they are called.
    """
    from tvm.ir.node import NODE_TYPES

    only = None if only_enable is None else tuple(NODE_TYPES.get(key) for key in only_enable)
    return rewrite(_IRTransform(preorder, postorder, only), stmt)
