"""Replacing a buffer by another one in the block that allocates it, or in the whole function."""

from __future__ import annotations

from collections.abc import Mapping

from tvm.ir.expr import PrimExpr
from tvm.ir.type import PointerType
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import Var
from tvm.tir.function import PrimFunc
from tvm.tir.stmt import Block

from .rebuild import TrackingMutator
from .tree import SRefTree


def with_scope(buffer: Buffer, scope: str, name: str | None = None) -> Buffer:
    """The same buffer in other memory."""
    kept = buffer.data.type_annotation
    assert isinstance(kept, PointerType), "the constructor of Buffer made sure"
    new_name = buffer.name if name is None else name
    data = Var(new_name, PointerType(kept.element_type, scope), buffer.data.span)
    return buffer.with_changes(data=data, name=new_name)


class BufferReplacer(TrackingMutator):
    """Uses other buffers in place of some, in accesses, regions, allocations and addresses."""

    def __init__(self, buffers: Mapping[Buffer, Buffer]) -> None:
        super().__init__()
        self.buffers.update(buffers)
        self._fixed = dict(buffers)
        self._data = {old.data: new.data for old, new in buffers.items()}

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

