"""A kernel has all of its threads from the start, wherever the launch of an axis is written.

    T.launch_thread("threadIdx.y", 4):               T.launch_thread("threadIdx.y", 4):
        a()                                  ->          T.launch_thread("threadIdx.x", 32):
        T.launch_thread("threadIdx.x", 32):                  a()
            b(threadIdx_x)                                   b(threadIdx_x)
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.node import with_fields
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.functor import StmtExprMutator, statements, substitute

_LAUNCH = "thread_extent"


def launched_at_once(body: s.Stmt) -> s.Stmt:
    """The body with the launches within a kernel at its top; only those of constant extents."""
    return _Kernels().visit_stmt(body)


class _Kernels(StmtExprMutator):
    """Finds the kernels of a function."""

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        return _at_once(op) if op.attr_key == _LAUNCH else super().visit_attr_stmt_(op)


def _memory_within(kernel: s.AttrStmt) -> s.AttrStmt:
    """The kernel with the memory between its launches within all of them: it is of each thread or
    each block, wherever it is allocated.
    """
    launches: list[s.AttrStmt] = []
    memory: list[s.Allocate | s.DeclBuffer] = []
    stmt: s.Stmt = kernel
    while True:
        if isinstance(stmt, s.AttrStmt) and stmt.attr_key == _LAUNCH:
            launches.append(stmt)
        elif isinstance(stmt, (s.Allocate, s.DeclBuffer)):
            memory.append(stmt)
        else:
            break
        stmt = stmt.body
    if not memory:
        return kernel
    for one in (*reversed(memory), *reversed(launches)):
        stmt = with_fields(one, body=stmt)
    assert isinstance(stmt, s.AttrStmt), "the outermost launch"
    return stmt


def _at_once(kernel: s.AttrStmt) -> s.Stmt:
    kernel = _memory_within(kernel)
    chain: list[s.AttrStmt] = []
    stmt: s.Stmt = kernel
    while isinstance(stmt, s.AttrStmt) and stmt.attr_key == _LAUNCH:
        chain.append(stmt)
        stmt = stmt.body
    tags = {_tag(one) for one in chain}
    inner = [n for n in statements(stmt, s.AttrStmt) if n.attr_key == _LAUNCH]
    late: dict[str, s.AttrStmt] = {}
    for one in inner:
        if _tag(one) in tags or not _tag(one).startswith("threadIdx"):
            continue
        known = late.setdefault(_tag(one), one)
        if not isinstance(one.value, e.IntImm) or one.value.value != _extent(known):
            return kernel
    if not late:
        return kernel
    body = _Bind({tag: _var(one) for tag, one in late.items()}).visit_stmt(stmt)
    for one in (*reversed(late.values()), *reversed(chain)):
        body = with_fields(one, body=body)
    return body


class _Bind(StmtExprMutator):
    """Takes launches away; their variables are those of the launches at the top."""

    def __init__(self, top: dict[str, e.Var]) -> None:
        super().__init__()
        self._top = top

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        var = self._top.get(_tag(op)) if op.attr_key == _LAUNCH else None
        if var is None:
            return super().visit_attr_stmt_(op)
        own = _var(op)
        values: dict[e.Var, PrimExpr] = {own: var}
        return self.visit_stmt(op.body if own is var else substitute(op.body, values))


def _tag(op: s.AttrStmt) -> str:
    return op.node.thread_tag if isinstance(op.node, e.IterVar) else ""


def _var(op: s.AttrStmt) -> e.Var:
    assert isinstance(op.node, e.IterVar), "launches name an axis"
    return op.node.var


def _extent(op: s.AttrStmt) -> int | None:
    return op.value.value if isinstance(op.value, e.IntImm) else None
