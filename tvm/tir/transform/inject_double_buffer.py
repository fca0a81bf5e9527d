"""While one half of a buffer is read, the other half is filled for the next iteration.

    for i in range(100):                           B: 8 elements, outside of the loop
        B = allocate(4)                            B[0:4] = load(0)
        with attr(B, "double_buffer_scope", 1):    for i in range(99):
            B[0:4] = load(i)                 ->        B[(i + 1) % 2 * 4 ...] = load(i + 1)
        use(B[0:4])                                    use(B[i % 2 * 4 ...])
                                                   use(B[99 % 2 * 4 ...])

The filling is marked with `double_buffer_write`. The option `tir.InjectDoubleBuffer` says by its
`split_loop` how many iterations stand in one of the new loop; 0 keeps the loop and guards the
filling.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import op as ops
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, statements, substitute

from .convert_ssa import to_ssa
from .pass_form import tir_pass


@tir_pass("tir.InjectDoubleBuffer")
def InjectDoubleBuffer(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No attribute double_buffer_scope is left."""
    marked = [
        node.node
        for node in statements(func.body, s.AttrStmt) if node.attr_key == "double_buffer_scope"
    ]
    if not marked:
        return func
    split = int(ctx.option("tir.InjectDoubleBuffer").split_loop)
    if split != 1 and split % 2:
        raise CheckError(f"tir.InjectDoubleBuffer: split_loop is {split}; legal: 0, 1, 2, 4, ...")
    variables = [node.data if isinstance(node, Buffer) else node for node in marked]
    return to_ssa(func.with_body(_Injector(variables, split).visit_stmt(func.body)))


class _Doubled:
    """A buffer of two halves."""

    def __init__(self) -> None:
        self.stride: PrimExpr | None = None  # the elements of a half
        self.loop: s.For | None = None
        self.read_half: PrimExpr | None = None
        self.write_half: e.Var | None = None
        self.allocation: s.Allocate | None = None
        self.declared: list[s.DeclBuffer] = []

    def around(self, stmt: s.Stmt) -> s.Stmt:
        """The statement with the memory of both halves and its buffers."""
        for one in reversed(self.declared):
            stmt = s.DeclBuffer(one.buffer, stmt, one.span)
        op = self.allocation
        return stmt if op is None else s.Allocate(
            op.buffer_var, op.dtype, op.extents, op.condition, stmt, op.annotations, op.span
        )  # fmt: skip


class _Injector(StmtExprMutator):
    def __init__(self, variables: Sequence[object], split: int) -> None:
        super().__init__()
        self._split = split
        self._doubled = {var: _Doubled() for var in variables if isinstance(var, e.Var)}
        self._loops: list[s.For] = []
        self._filling: _Doubled | None = None
        self._before: dict[int, list[s.Stmt]] = {}  # by loops: fillings for the first iteration
        self._halves: dict[Buffer, Buffer] = {}

    # --- the memory ---

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        info = self._doubled.get(op.buffer_var)
        if info is None:
            return super().visit_allocate_(op)
        stride = op.extents[0]
        for extent in op.extents[1:]:
            stride = stride * extent
        info.stride = stride
        body = self.visit_stmt(op.body)
        if info.loop is None:
            return s.Allocate(
                op.buffer_var, op.dtype, op.extents, op.condition, body, op.annotations, op.span
            )
        info.allocation = s.Allocate(
            op.buffer_var, op.dtype, [stride * 2], op.condition, op.body, op.annotations, op.span
        )
        return body if info.loop in self._loops else info.around(body)

    def visit_decl_buffer_(self, op: s.DeclBuffer) -> s.Stmt:
        """What is declared in the loop is declared with the memory, for all its parts."""
        new = super().visit_decl_buffer_(op)
        info = self._doubled.get(op.buffer.data)
        if info is None or info.loop not in self._loops or not isinstance(new, s.DeclBuffer):
            return new
        info.declared.append(new)
        return new.body

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        return self._twice(buffer) or super().visit_buffer_def(buffer)

    def visit_buffer_use(self, buffer: Buffer) -> Buffer:
        return self._twice(buffer) or super().visit_buffer_use(buffer)

    def _twice(self, buffer: Buffer) -> Buffer | None:
        known = self._halves.get(buffer)
        if known is not None or buffer.data not in self._doubled:
            return known
        if len(buffer.shape) != 1:
            raise CheckError(
                message(
                    f"InjectDoubleBuffer: buffer {buffer.name}",
                    found=f"{len(buffer.shape)} dimensions",
                    legal="flat buffers; FlattenBuffer makes them so",
                )
            )
        new = self._halves[buffer] = buffer.with_changes(shape=(buffer.shape[0] * 2,))
        return new

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        new = super().visit_buffer_store_(op)
        info = self._doubled.get(op.buffer.data)
        if info is None or not isinstance(new, s.BufferStore):
            return new
        if self._filling is not info or info.write_half is None:
            raise CheckError(
                message(
                    f"InjectDoubleBuffer: a store to {op.buffer.name}",
                    found="outside of its double_buffer_scope",
                    where=str(op),
                    legal="stores in the scope, loads after it",
                )
            )
        index = _half(info.write_half, info) + new.indices[0]
        return s.BufferStore(new.buffer, new.value, [index], new.predicate, new.span)

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        new = super().visit_buffer_load_(op)
        info = self._doubled.get(op.buffer.data)
        if info is None or info.read_half is None or not isinstance(new, e.BufferLoad):
            return new
        index = _half(info.read_half, info) + new.indices[0]
        return e.BufferLoad(new.buffer, [index], new.predicate, new.span)

    # --- the loops ---

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        if op.attr_key != "double_buffer_scope":
            return super().visit_attr_stmt_(op)
        var = op.node.data if isinstance(op.node, Buffer) else op.node
        info = self._doubled[var]  # type: ignore[index]
        if not self._loops:
            raise CheckError(
                message(
                    "InjectDoubleBuffer: a double_buffer_scope",
                    found="no loop around it",
                    where=str(op),
                    legal="a scope inside of a loop",
                )
            )
        loop = info.loop = self._loops[-1]
        following = loop.loop_var + 1
        info.write_half = e.Var(f"{loop.loop_var.name}.db", loop.loop_var.dtype)
        info.read_half = ops.indexmod(loop.loop_var, 2)
        outer, self._filling = self._filling, info
        body = self.visit_stmt(op.body)
        self._filling = outer
        zero = ops.const(0, loop.loop_var.dtype)
        first = substitute(body, {info.write_half: zero, loop.loop_var: loop.min})
        self._before.setdefault(id(loop), []).append(first)
        half = ops.indexmod(following, 2)
        later = substitute(body, {info.write_half: half, loop.loop_var: following})
        fill = s.AttrStmt(var, "double_buffer_write", ops.const(1, "int32"), later, op.span)
        return s.IfThenElse(following < loop.extent, fill, None, op.span)

    def visit_for_(self, op: s.For) -> s.Stmt:
        self._loops.append(op)
        new = super().visit_for_(op)
        self._loops.pop()
        before = self._before.pop(id(op), None)
        if before is None:
            return new
        assert isinstance(new, s.For), "loops stay loops"
        stmt = s.SeqStmt.flatten([*before, *(self._split_loop(new) if self._split else [new])])
        for info in self._doubled.values():
            if info.loop is op and info.allocation is not None:
                stmt = info.around(stmt)
        return stmt

    def _split_loop(self, loop: s.For) -> list[s.Stmt]:
        """All but the last iteration in whole groups, then those that are left."""
        if not (isinstance(loop.min, e.IntImm) and loop.min.value == 0):
            raise CheckError(
                message(
                    "InjectDoubleBuffer: a loop that is split",
                    found=f"it starts at {loop.min}",
                    legal="loops from 0, or split_loop=0",
                )
            )
        var, kind = loop.loop_var, loop.loop_var.dtype
        group = ops.const(self._split, kind)
        count = ops.truncdiv(loop.extent - 1, group)  # none of a loop that does not run
        outer = e.Var(f"{var.name}.outer", kind)
        bodies = [
            substitute(loop.body, {var: outer * group + i})
            for i in range(self._split)
        ]
        main = s.For(
            outer, loop.min, count, loop.kind, s.SeqStmt.flatten(bodies), loop.thread_binding,
            loop.annotations, loop.span,
        )  # fmt: skip
        rest = _WithoutMark().visit_stmt(loop.body)
        tail: list[s.Stmt] = []
        for i in range(self._split):
            at = count * group + i
            tail.append(s.IfThenElse(at < loop.extent, substitute(rest, {var: at})))
        return [main, *tail]


class _WithoutMark(StmtExprMutator):
    """What runs after the loop is no longer marked as filling."""

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        if op.attr_key == "double_buffer_write":
            return self.visit_stmt(op.body)
        return super().visit_attr_stmt_(op)


def _half(which: PrimExpr, info: _Doubled) -> PrimExpr:
    if info.stride is None:
        raise CheckError(
            message(
                "InjectDoubleBuffer: a buffer with a double_buffer_scope",
                found="no allocation around the scope",
                legal="memory that the function allocates",
            )
        )
    return which * info.stride
