"""Blocks are gone: allocations, conditions and loops say all that they said.

    for i in range(1):                      Allocate(b, [16])
        with T.block():            ->       with T.decl_buffer((16,), data=b) as B:
            T.where(p)                          if p:
            B = T.alloc_buffer((16,))               ... i becomes 0
            ...

Loops bound to threads become `thread_extent` attributes, annotations `pragma_*` of loops and blocks
become attributes; other annotations of loops stay with them. Loops of one iteration disappear,
unless an annotation or `tir.debug_keep_trivial_loop` keeps them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from tvm.error import CheckError
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.support.frozen import FrozenMap
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, rewrite, statements
from tvm.tir.op import arith as ops

from .pass_form import tir_pass


@tir_pass("tir.LowerOpaqueBlock")
def LowerOpaqueBlock(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """The function has no blocks afterwards, and can no longer be scheduled."""
    keep = bool(ctx.option("tir.debug_keep_trivial_loop", False))
    return rewrite(_BlockRemover(keep, _alignments(func.body)), func)


def _alignments(body: s.Stmt) -> dict[e.Var, list[list[object]]]:
    """What blocks ask for the strides of buffers that they write, by the memory of the buffer."""
    found: dict[e.Var, list[list[object]]] = {}
    for block in statements(body, s.Block):
        if ALIGNED in block.annotations:
            asked: Any = block.annotations[ALIGNED]
            for number, *others in asked:
                memory = block.writes[int(number)].buffer.data
                found.setdefault(memory, []).append([-1, *others])
    return found


class _BlockRemover(StmtExprMutator):
    def __init__(
        self, keep_trivial_loops: bool, aligned: Mapping[e.Var, list[list[object]]]
    ) -> None:
        super().__init__()
        self._keep = keep_trivial_loops
        self._aligned = aligned
        self._values: dict[e.Var, PrimExpr] = {}

    def visit_var_(self, op: e.Var) -> PrimExpr:
        return self._values.get(op, op)

    def visit_block_realize_(self, op: s.BlockRealize) -> s.Stmt:
        block = op.block
        if block.init is not None or op.iter_values or block.match_buffers:
            raise CheckError(
                f"LowerOpaqueBlock: block {block.name_hint!r} is not opaque; legal: run "
                "LowerInitBlock, ConvertBlocksToOpaque and LowerMatchBuffer first"
            )
        buffers = [self.visit_buffer_def(buffer) for buffer in block.alloc_buffers]
        predicate = self.visit_expr(op.predicate)
        body = self.visit_stmt(block.body)
        if not ops.is_one(predicate):
            body = s.IfThenElse(predicate, body, None, op.span or body.span)
        facts = {k: v for k, v in block.annotations.items() if k in _ALLOCATION_KEYS}
        for old, buffer in zip(reversed(block.alloc_buffers), reversed(buffers)):
            strides = self._aligned.get(old.data)
            more = {} if strides is None else {ALIGNED: strides}
            body = _allocate(buffer, body, {**facts, **more})
        return _with_pragmas(block.annotations, body, ops.const(0, "int32"))

    def visit_for_(self, op: s.For) -> s.Stmt:
        low, extent = self.visit_expr(op.min), self.visit_expr(op.extent)
        pragmas = {k: v for k, v in op.annotations.items() if k.startswith("pragma_")}
        kept = {k: v for k, v in op.annotations.items() if k not in pragmas}
        body: s.Stmt
        if op.kind == s.ForKind.THREAD_BINDING:
            if ops.is_one(extent):
                self._values[op.loop_var] = low
            body = _launch(op, extent, self.visit_stmt(op.body))
        elif ops.is_one(extent) and not kept and not self._keep:
            self._values[op.loop_var] = low
            body = self.visit_stmt(op.body)
        else:
            inner = self.visit_stmt(op.body)
            same = low is op.min and extent is op.extent and inner is op.body and not pragmas
            annotations = FrozenMap(kept) if pragmas else op.annotations
            body = op if same else s.For(
                op.loop_var, low, extent, op.kind, inner, None, annotations, op.span
            )  # fmt: skip
        return _with_pragmas(pragmas, body, op.loop_var)


# Block annotations that describe its allocations rather than its computation.
_ALLOCATION_KEYS = ("auto_copy", "double_buffer_scope")
ALIGNED: Final = "buffer_dim_align"


def _launch(op: s.For, extent: PrimExpr, body: s.Stmt) -> s.Stmt:
    """A thread-bound loop as an attribute; its variable is the thread's."""
    binding = op.thread_binding
    assert binding is not None, "a thread-bound loop names its thread"
    dom = Range.from_min_extent(op.min, extent)
    axis = e.IterVar(dom, op.loop_var, e.IterVar.ThreadIndex, binding.thread_tag, binding.span)
    virtual = binding.thread_tag == "vthread" or binding.thread_tag.startswith("vthread.")
    key = "virtual_thread" if virtual else "thread_extent"
    return s.AttrStmt(axis, key, extent, body, op.span)


def _with_pragmas(annotations: Mapping[str, object], body: s.Stmt, node: PrimExpr) -> s.Stmt:
    """The body under an attribute of the node for each annotation that is a pragma."""
    for key, value in reversed(list(annotations.items())):
        if key.startswith("pragma_"):
            body = s.AttrStmt(node, key, _as_attr_value(value), body, body.span)
    return body


def _as_attr_value(value: object) -> PrimExpr:
    return value if isinstance(value, PrimExpr) else e.as_expr(value)


def _allocate(buffer: Buffer, body: s.Stmt, facts: Mapping[str, object]) -> s.Stmt:
    """Memory for a buffer that a block allocated."""
    declared = s.DeclBuffer(buffer, body, buffer.span)
    always = ops.const(True, "bool")
    extents = extents_of(buffer)
    return s.Allocate(buffer.data, buffer.dtype, extents, always, declared, facts, buffer.span)


def extents_of(buffer: Buffer) -> Sequence[PrimExpr]:
    """The memory that a buffer needs: a stride says how much room a row takes, padding included."""
    strides = buffer.checked_strides()
    if not strides:
        return buffer.shape
    extents: list[PrimExpr] = [buffer.shape[0]]
    for outer, inner in pairwise(strides):
        # a stride that is no multiple of the next leaves a gap behind each row
        extents.append(ops.ceildiv(outer, inner))
    if not ops.is_one(strides[-1]):  # neighbours lie apart too
        extents[-1] = extents[-1] * strides[-1]
    return extents
