"""Reshapes of open sizes are indexed by groups of extents that have equal products.

    A: (n, 8, h)    R: (n, 2, 4, h)

    R[i, j, k, l] = A[((i * 2 + j) * 4 + k) * h + l) // h // 8 % n, ... // h % 8, ... % h]
    ->
    R[i, j, k, l] = A[i, j * 4 + k, l]

Nothing simplifies quotients by a symbol, so that such a kernel would look as if it read anywhere:
nothing could be fused with it, and each element would be divided for.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.analysis.reshape_pattern import (
    Group,
    equal_groups,
    has_reshape_pattern,
    within_domains,
)
from tvm.relax.transform.rewrite_dataflow_reshape import has_reshape_form
from tvm.tir.expr import BufferLoad, FloorDiv, FloorMod, IntImm, Var, make_const
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, statements, walk
from tvm.tir.op.arith import add, floordiv, floormod, is_one, multiply
from tvm.tir.schedule.rebuild import change_block
from tvm.tir.schedule.regions import with_regions
from tvm.tir.stmt import Block, BufferStore, Stmt
from tvm.tir.transform.pass_form import tir_pass


@tir_pass("GroupReshapes")
def GroupReshapes(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No kernel of a reshape divides by a symbol where its extents fall into groups."""
    buffers = [func.buffer_map[p] for p in func.params if p in func.buffer_map]
    blocks = [node for node in statements(func.body, Block) if node.iter_vars]
    if len(buffers) != 2 or len(blocks) != 1:
        return func
    source, target = buffers
    store = blocks[0].body
    if all(isinstance(extent, IntImm) for extent in (*source.shape, *target.shape)):
        return func
    if not isinstance(store, BufferStore) or not isinstance(store.value, BufferLoad):
        return func
    if store.buffer is not target or store.value.buffer is not source:
        return func
    if not any(isinstance(part, FloorDiv | FloorMod) and not isinstance(part.b, IntImm)
               for index in store.value.indices for part in walk(index)):  # fmt: skip
        return func
    groups = equal_groups(source.shape, target.shape)
    if groups is None or not (has_reshape_pattern(func) or has_reshape_form(func)):
        return func
    return func.with_body(_Grouped(groups).visit_stmt(func.body))


class _Grouped(StmtExprMutator):
    """Indexes the only load of a block by groups."""

    def __init__(self, groups: Sequence[Group]) -> None:
        super().__init__()
        self._groups, self._analyzer = groups, Analyzer()
        self._domains: dict[Var, Range] = {}

    def visit_block_(self, op: Block) -> Stmt:
        """Of a block with variables: its store, and what that reads."""
        if not op.iter_vars:
            return super().visit_block_(op)
        for iv in op.iter_vars:
            if iv.dom is not None:
                self._analyzer.bind(iv.var, iv.dom)
                self._domains[iv.var] = iv.dom
        store = op.body
        assert isinstance(store, BufferStore), "looked at by the caller"
        load = store.value
        assert isinstance(load, BufferLoad), "looked at by the caller"
        indices = self._indices(load.buffer.shape, store.indices, store.buffer.shape)
        new = BufferLoad(load.buffer, indices, load.predicate, load.span)
        made = BufferStore(store.buffer, new, store.indices, store.predicate, store.span)
        return with_regions(change_block(op, body=made))

    def _indices(
        self, source: Sequence[PrimExpr], at: Sequence[PrimExpr], target: Sequence[PrimExpr]
    ) -> list[PrimExpr]:
        found: list[PrimExpr] = []
        for axes, places in self._groups:
            offset = at[places[0]]
            for place in places[1:]:
                offset = add(multiply(offset, target[place]), at[place])
            digits = dict[int, PrimExpr].fromkeys(axes, make_const(0, offset.dtype))
            wide = [axis for axis in axes if not is_one(source[axis])] or axes[:1]
            for axis in reversed(wide[1:]):
                digits[axis] = floormod(offset, source[axis])
                offset = floordiv(offset, source[axis])
            digits[wide[0]] = offset
            found += [within_domains(index, self._domains, self._analyzer)
                      for index in digits.values()]  # fmt: skip
        return found
