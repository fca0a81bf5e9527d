"""The innermost loop or block around all uses of a buffer."""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprVisitor, expr_children


@explained
def detect_buffer_access_lca(func: PrimFunc) -> dict[Buffer, s.Stmt | None]:
    """For each buffer the lowest common ancestor (a For or a Block) of its uses.

    None stands for the function itself. A buffer that a reduction block updates is needed as long
    as the loops of the reduction run, so its ancestor lies outside of them. Global memory belongs
    to all blocks of threads: its ancestor is, or surrounds, the loops bound to `blockIdx`.
    """
    detector = _Detector(func)
    detector.visit_stmt(func.body)
    detector.lift_global_memory()
    return {
        buffer: None if scope is None else scope.stmt for buffer, scope in detector.found.items()
    }


class _Scope:
    """A loop or block, and the one around it."""

    __slots__ = ("depth", "parent", "stmt")

    def __init__(self, stmt: s.Stmt | None, parent: _Scope | None) -> None:
        self.stmt: Final = stmt
        self.parent: Final = parent
        self.depth: Final[int] = 0 if parent is None else parent.depth + 1


class _Detector(StmtExprVisitor):
    def __init__(self, func: PrimFunc) -> None:
        super().__init__()
        self.found: dict[Buffer, _Scope | None] = {}
        self._buffers: dict[e.Var, Buffer] = {}
        self._scopes: list[_Scope] = [_Scope(None, None)]
        self._loops: dict[e.Var, _Scope] = {}
        self._grids: list[_Scope] = []  # loops bound to blockIdx
        self._pinned: dict[Buffer, _Scope] = {}  # buffers that live at least as long as this
        for buffer in func.buffer_map.values():
            self._buffers[buffer.data] = buffer

    def _touch(self, buffer: Buffer) -> None:
        scope = self._pinned.get(buffer, self._scopes[-1])
        known = self.found.get(buffer)
        self.found[buffer] = scope if known is None else _common(known, scope)

    def lift_global_memory(self) -> None:
        """Let the ancestors of global buffers surround all loops that are bound to `blockIdx`."""
        for buffer, scope in self.found.items():
            if scope is not None and buffer.scope().split(".")[0] in ("", "global"):
                for grid in self._grids:
                    scope = _common(scope, grid)
                self.found[buffer] = scope

    def visit_var_(self, op: e.Var) -> None:
        buffer = self._buffers.get(op)
        if buffer is not None:
            self._touch(buffer)

    def visit_buffer_use(self, buffer: Buffer) -> None:
        self._touch(buffer)
        owner = self._buffers.get(buffer.data)
        if owner is not None and owner is not buffer:
            self._touch(owner)  # a view is a use of the memory that it looks at

    def visit_decl_buffer_(self, op: s.DeclBuffer) -> None:
        self._buffers.setdefault(op.buffer.data, op.buffer)
        super().visit_decl_buffer_(op)

    def visit_for_(self, op: s.For) -> None:
        self.visit_expr(op.min)
        self.visit_expr(op.extent)
        scope = _Scope(op, self._scopes[-1])
        self._scopes.append(scope)
        self._loops[op.loop_var] = scope
        if op.thread_binding is not None and op.thread_binding.thread_tag.startswith("blockIdx."):
            self._grids.append(scope)
        self.visit_stmt(op.body)
        self._scopes.pop()

    def visit_block_realize_(self, op: s.BlockRealize) -> None:
        self.visit_exprs(op.iter_values)
        self.visit_expr(op.predicate)
        pinned = dict(self._pinned)
        self._pin(op)
        self.visit_stmt(op.block)
        self._pinned = pinned

    def _pin(self, op: s.BlockRealize) -> None:
        """Buffers that a reduction writes belong outside of the outermost reducing loop."""
        outermost: _Scope | None = None
        for axis, value in zip(op.block.iter_vars, op.iter_values):
            if axis.iter_type in (e.IterVar.DataPar, e.IterVar.ThreadIndex):
                continue
            for scope in self._scopes_of(value):
                if outermost is None or scope.depth < outermost.depth:
                    outermost = scope
        if outermost is None or outermost.parent is None:
            return
        for region in op.block.writes:
            self._pinned[region.buffer] = outermost.parent

    def _scopes_of(self, value: PrimExpr) -> list[_Scope]:
        found, stack = [], [value]
        while stack:
            node = stack.pop()
            if isinstance(node, e.Var) and node in self._loops:
                found.append(self._loops[node])
            stack.extend(expr_children(node))
        return found

    def visit_block_(self, op: s.Block) -> None:
        self._scopes.append(_Scope(op, self._scopes[-1]))
        for buffer in op.alloc_buffers:
            self._buffers[buffer.data] = buffer
        for match in op.match_buffers:
            self._touch(match.source.buffer)
            self._buffers[match.buffer.data] = match.buffer
        if op.init is not None:
            self.visit_stmt(op.init)
        self.visit_stmt(op.body)
        self._scopes.pop()


def _common(a: _Scope, b: _Scope) -> _Scope:
    """The innermost scope around both."""
    while a is not b:
        if a.depth >= b.depth:
            assert a.parent is not None, "scopes of one function share their root"
            a = a.parent
        else:
            assert b.parent is not None, "scopes of one function share their root"
            b = b.parent
    return a
