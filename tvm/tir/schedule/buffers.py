"""Replacing a buffer by another one in the block that allocates it, or in the whole function."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tvm.ir.expr import PrimExpr
from tvm.ir.type import PointerType
from tvm.support.compiled import mypyc_attr
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import Var
from tvm.tir.function import PrimFunc
from tvm.tir.stmt import Block, Stmt

from .rebuild import TrackingMutator
from .tree import SRefTree


def with_scope(buffer: Buffer, scope: str, name: str | None = None) -> Buffer:
    """The same buffer in other memory."""
    kept = buffer.data.type_annotation
    assert isinstance(kept, PointerType), "the constructor of Buffer made sure"
    new_name = buffer.name if name is None else name
    data = Var(new_name, PointerType(kept.element_type, scope), buffer.data.span)
    return buffer.with_changes(data=data, name=new_name)


@mypyc_attr(allow_interpreted_subclasses=True)
class BufferReplacer(TrackingMutator):
    """Uses other buffers instead of some, in accesses, regions, allocations and addresses.

    `view` says what becomes of a buffer that a block matches to a region of one of them.
    """

    def __init__(
        self, buffers: Mapping[Buffer, Buffer], view: Callable[[Buffer], Buffer] | None = None
    ) -> None:
        super().__init__()
        self._view = view
        self.buffers.update(buffers)
        self._fixed = dict(buffers)
        self._data = {old.data: new.data for old, new in buffers.items()}

    def visit_block_(self, op: Block) -> Stmt:
        for match in op.match_buffers if self._view is not None else ():
            if match.source.buffer in self._fixed and self._view is not None:
                old, new = match.buffer, self._view(match.buffer)
                self._fixed[old] = self.buffers[old] = new
                self._data[old.data] = new.data
        return super().visit_block_(op)

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        return self._fixed.get(buffer, buffer)

    def visit_var_(self, op: Var) -> PrimExpr:
        return self._data.get(op, op)


def replace_buffers(
    state: SRefTree,
    site: StmtSRef,
    rule: TrackingMutator,
    parameters: Mapping[Buffer, Buffer] | None = None,
) -> None:
    """Apply a rewrite of buffers to all of a block, and to the function's parameters if given."""
    old = site.stmt
    assert isinstance(old, Block), "buffers are allocated by blocks"
    new = rule.visit_stmt(old)
    assert isinstance(new, Block), "a block stays a block"
    if new is not old:
        state.replace(site, new, {**rule.reuse, old: new})
    if parameters:
        func = state.function_of(site)
        table = {var: parameters.get(b, b) for var, b in func.buffer_map.items()}
        state.set_function(
            state.root_of(site),
            PrimFunc(func.params, func.body, func.ret_type, table, func.attrs, func.span),
        )

