"""Virtual threads become copies of the statements that differ between them.

    attr(vthread, "virtual_thread", 2):        B = allocate(8)
        B = allocate(4)                        for i in range(4):
        for i in range(4):               ->        B[i] = A[i]
            B[i] = A[vthread * 4 + i]              B[4 + i] = A[4 + i]

A statement is copied if it reads the number of the virtual thread, or what depends on it; the
smallest one that does, so the copies stand inside of loops that are the same for all. Few copies of
a statement without loops stand one after the other, others in a loop. Memory that differs is there
once for each virtual thread. Virtual threads other than `vthread` (`cthread`) share no memory, and
each of their statements is copied.
"""

from __future__ import annotations

from typing import Final

from tvm.arith.analyzer import Analyzer
from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.node import Node
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import op as ops
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, substitute, walk

from .convert_ssa import to_ssa
from .pass_form import tir_pass

MAX_UNROLLED_COPIES: Final = 16  # so many copies stand in a loop
_WRITES: Final = 2  # the bit of a mask of tvm_access_ptr


@tir_pass("tir.InjectVirtualThread")
def InjectVirtualThread(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No attribute virtual_thread is left."""
    if not any(_is_launch(node) for node in walk(func.body)):
        return func
    return to_ssa(func.with_body(_Launches().visit_stmt(func.body)))


def _is_launch(node: object) -> bool:
    return isinstance(node, s.AttrStmt) and node.attr_key == "virtual_thread"


class _Launches(StmtExprMutator):
    """Replaces launches, the inner ones first."""

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        new = super().visit_attr_stmt_(op)
        if not isinstance(new, s.AttrStmt) or not _is_launch(new):
            return new
        thread = new.node
        assert isinstance(thread, e.IterVar), "launches are of thread axes"
        if not isinstance(new.value, e.IntImm):
            raise CheckError(
                message(
                    f"InjectVirtualThread: {thread.var.name}",
                    found=f"{new.value} virtual threads",
                    where=str(op),
                    legal="a number that is known",
                )
            )
        shares = thread.thread_tag.startswith("vthread")
        return _Copier(thread.var, new.value.value, shares, new.body).outside(new.body)


def _depending(var: e.Var, body: s.Stmt) -> set[e.Var]:
    """The variables whose values, or whose memory, depend on `var`."""
    reads: dict[e.Var, set[e.Var]] = {}

    def note(target: e.Var, *sources: Node | None) -> None:
        found = reads.setdefault(target, set())
        for source in sources:
            if source is not None:
                found |= _variables(source)

    for node in walk(body):
        if isinstance(node, (s.LetStmt, e.Let)):
            note(node.var, node.value)
        elif isinstance(node, s.For):
            note(node.loop_var, node.min, node.extent)
        elif isinstance(node, s.BufferStore):
            note(node.buffer.data, node.value, *node.indices)
        elif isinstance(node, s.Allocate):
            note(node.buffer_var, *node.extents)
        elif isinstance(node, (s.Evaluate, s.AttrStmt)):
            call = node.value
            for part in walk(call):
                if _written_through(part) is not None:
                    note(_written_through(part), call)  # type: ignore[arg-type]
    touched = {var}
    size = 0
    while size < len(touched):
        size = len(touched)
        touched |= {target for target, sources in reads.items() if sources & touched}
    return touched


def _written_through(node: object) -> e.Var | None:
    """The memory to which a call gets an address, to write there."""
    if not isinstance(node, e.Call):
        return None
    name = e.op_name(node)
    if name == "tir.tvm_access_ptr" and isinstance(node.args[1], e.Var):
        mask = node.args[4]
        writes = not isinstance(mask, e.IntImm) or bool(mask.value & _WRITES)
        return node.args[1] if writes else None
    if name == "tir.address_of" and isinstance(node.args[0], e.BufferLoad):
        return node.args[0].buffer.data
    return None


def _variables(node: Node) -> set[e.Var]:
    found: set[e.Var] = set()
    for part in walk(node):
        if isinstance(part, e.Var):
            found.add(part)
        elif isinstance(part, (e.BufferLoad, s.BufferStore)):
            found.add(part.buffer.data)
    return found


class _Copier(StmtExprMutator):
    """Copies what depends on one virtual thread."""

    def __init__(self, var: e.Var, count: int, shares: bool, body: s.Stmt) -> None:
        super().__init__()
        self.var, self.count, self.shares = var, count, shares
        self.touched = _depending(var, body)
        self._analyzer = Analyzer()
        self._strides: dict[e.Var, PrimExpr] = {}  # of memory that each thread has for itself
        self._wider: dict[Buffer, Buffer] = {}

    def _differs(self, *nodes: Node | None) -> bool:
        return any(node is not None and _variables(node) & self.touched for node in nodes)

    # --- statements ---

    def outside(self, stmt: s.Stmt) -> s.Stmt:
        """A statement that is not within copies yet."""
        if isinstance(stmt, s.SeqStmt):
            return s.SeqStmt.flatten([self.outside(child) for child in stmt.seq])
        if self._header_differs(stmt):
            return self._copies(self.visit_stmt(stmt))
        if isinstance(stmt, s.Allocate):
            return self._allocate(stmt)
        if isinstance(stmt, s.IfThenElse):
            other = None if stmt.else_case is None else self.outside(stmt.else_case)
            cond = self.visit_expr(stmt.condition)
            return s.IfThenElse(cond, self.outside(stmt.then_case), other, stmt.span)
        body: s.Stmt | None = getattr(stmt, "body", None)
        if body is None or isinstance(stmt, (s.BlockRealize, s.Block)):
            new = self.visit_stmt(stmt)
            return self._copies(new) if not self.shares or self._differs(stmt) else new
        return _around(stmt, self.outside(body), self)

    def _header_differs(self, stmt: s.Stmt) -> bool:
        if isinstance(stmt, s.LetStmt):
            return self._differs(stmt.value)
        if isinstance(stmt, s.For):
            return self._differs(stmt.min, stmt.extent)
        if isinstance(stmt, (s.IfThenElse, s.While)):
            return self._differs(stmt.condition)
        if isinstance(stmt, s.AssertStmt):
            return self._differs(stmt.condition, stmt.message)
        if isinstance(stmt, s.AttrStmt):
            return self._differs(stmt.value)
        if isinstance(stmt, s.Allocate):
            return self._differs(*stmt.extents, stmt.condition)
        return False

    def _copies(self, stmt: s.Stmt) -> s.Stmt:
        loops = any(isinstance(node, (s.For, s.While)) for node in walk(stmt))
        if not loops and self.count < MAX_UNROLLED_COPIES:
            kind = self.var.dtype
            values = [ops.const(i, kind) for i in range(self.count)]
            return s.SeqStmt.flatten([substitute(stmt, {self.var: value}) for value in values])
        index = e.Var(f"{self.var.name}.s", self.var.dtype)
        body = substitute(stmt, {self.var: index})
        return s.For(index, 0, self.count, s.ForKind.SERIAL, body, span=stmt.span)

    # --- memory ---

    def _allocate(self, op: s.Allocate) -> s.Stmt:
        if self.shares and op.buffer_var not in self.touched:
            return _around(op, self.outside(op.body), self)
        stride = op.extents[0]
        for extent in op.extents[1:]:
            stride = stride * extent
        self._strides[op.buffer_var] = stride
        body = self.outside(op.body)
        return s.Allocate(
            op.buffer_var, op.dtype, [stride * self.count], op.condition, body, op.annotations,
            op.span,
        )  # fmt: skip

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        return self._for_all(buffer) or super().visit_buffer_def(buffer)

    def visit_buffer_use(self, buffer: Buffer) -> Buffer:
        return self._for_all(buffer) or super().visit_buffer_use(buffer)

    def _for_all(self, buffer: Buffer) -> Buffer | None:
        known = self._wider.get(buffer)
        if known is not None or buffer.data not in self._strides:
            return known
        if len(buffer.shape) != 1:
            raise CheckError(
                message(
                    f"InjectVirtualThread: buffer {buffer.name}",
                    found=f"{len(buffer.shape)} dimensions",
                    legal="flat buffers; FlattenBuffer makes them so",
                )
            )
        new = buffer.with_changes(shape=(buffer.shape[0] * self.count,))
        self._wider[buffer] = new
        return new

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        new = super().visit_buffer_store_(op)
        stride = self._strides.get(op.buffer.data)
        if stride is None or not isinstance(new, s.BufferStore):
            return new
        index = self._shifted(new.indices[0], stride)
        return s.BufferStore(new.buffer, new.value, [index], new.predicate, new.span)

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        new = super().visit_buffer_load_(op)
        stride = self._strides.get(op.buffer.data)
        if stride is None or not isinstance(new, e.BufferLoad):
            return new
        index = self._shifted(new.indices[0], stride)
        return e.BufferLoad(new.buffer, [index], new.predicate, new.span)

    def _shifted(self, index: PrimExpr, stride: PrimExpr) -> PrimExpr:
        """The offset in the part of memory that belongs to the virtual thread."""
        if isinstance(index, e.Ramp):
            base = self._shifted(index.base, stride)
            return e.Ramp(base, index.stride, index.lanes, index.span)
        return self._analyzer.simplify(index + self.var * stride)

    def visit_call_(self, op: e.Call) -> PrimExpr:
        new = super().visit_call_(op)
        if not (e.is_call_of(op, "tir.tvm_access_ptr") and isinstance(new, e.Call)):
            return new
        stride = self._strides.get(op.args[1]) if isinstance(op.args[1], e.Var) else None
        if stride is None:
            return new
        args = list(new.args)
        args[2] = args[2] + self.var * stride
        return e.Call(new.dtype, new.op, args, new.span)


def _around(stmt: s.Stmt, body: s.Stmt, rule: StmtExprMutator) -> s.Stmt:
    """A statement with another body, its own expressions rewritten."""
    if body is stmt.body:  # type: ignore[attr-defined]
        return stmt
    return _Rebuilt(body, rule).visit_stmt(stmt)


class _Rebuilt(StmtExprMutator):
    """One statement whose body is known already."""

    def __init__(self, body: s.Stmt, rule: StmtExprMutator) -> None:
        super().__init__()
        self._entered = False
        self._body, self._rule = body, rule

    def visit_stmt(self, stmt: s.Stmt) -> s.Stmt:
        if self._entered:
            return self._body
        self._entered = True
        return super().visit_stmt(stmt)

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return self._rule.visit_expr(expr)

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        return self._rule.visit_buffer_def(buffer)
