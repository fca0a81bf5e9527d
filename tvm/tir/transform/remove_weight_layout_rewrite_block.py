"""Weights are given in the layout that the computation wants; the block that rewrites them is void.

    for i, j in T.grid(16, 16):                        for i, j in T.grid(16, 16):
        with T.block("layout_rewrite"):                    with T.block("layout_rewrite"):
            B_[j, i // 4, i % 4] = B[i, j]      ->             T.evaluate(0)
    ... B_[vj, vk // 4, vk % 4] ...                    ... B[vj, vk // 4, vk % 4] ...

`B` has the shape of `B_` then, be it a parameter or a constant. Contents of constants are rewritten
too, by a map of indices, so that a constant has to be loaded at the variables of the block; with
`skip_tensor_rewrite` they are arbitrary, which is enough to measure a kernel. The block of a
parameter may load at any indices, and guard it: `B_[j, i] = if_then_else(j < 10, B[i, j], 0)`.
"""

from __future__ import annotations

import numpy as np

from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.node import with_fields
from tvm.ir.transform import PassContext
from tvm.runtime import tensor as make_tensor
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.index_map import IndexMap
from tvm.tir.op import arith as ops

from .pass_form import tir_pass

MARK = "meta_schedule.layout_rewrite_preproc"


@tir_pass("tir.RemoveWeightLayoutRewriteBlock")
def RemoveWeightLayoutRewriteBlock(
    func: PrimFunc, mod: IRModule, ctx: PassContext, skip_tensor_rewrite: bool = False, *,
    skip_ndarray_rewrite: bool = False,
) -> PrimFunc:  # fmt: skip
    """No block rewrites the layout of weights.

    `skip_ndarray_rewrite` is the older name of the option.
    """
    remover = _Remover(skip_tensor_rewrite or skip_ndarray_rewrite)
    body = remover.visit_stmt(func.body)
    if not remover.found:
        return func
    fitted = {
        old.data: old.with_changes(shape=new.shape, strides=())
        for new, (old, _) in remover.found.items()
    }
    body = _Weights(remover, fitted).visit_stmt(body)
    params = {
        param: fitted.get(buffer.data, buffer) for param, buffer in func.buffer_map.items()
    }
    return PrimFunc(func.params, body, func.ret_type, params, func.attrs, func.span)


class _Remover(StmtExprMutator):
    """Empties the marked blocks; `found` has the old buffer and the map for each new one."""

    def __init__(self, skip: bool) -> None:
        super().__init__()
        self.skip = skip
        self.found: dict[Buffer, tuple[Buffer, IndexMap | None]] = {}

    def visit_block_(self, op: s.Block) -> s.Stmt:
        if not op.annotations.get(MARK):
            new = super().visit_block_(op)
            assert isinstance(new, s.Block), "a block stays one"
            kept = [buffer for buffer in new.alloc_buffers if buffer not in self.found]
            same = len(kept) == len(new.alloc_buffers)
            return new if same else with_fields(new, alloc_buffers=tuple(kept))
        store = op.body
        load = _copied(store.value) if isinstance(store, s.BufferStore) else None
        if not isinstance(store, s.BufferStore) or load is None:
            raise CheckError(message(
                f"RemoveWeightLayoutRewriteBlock: block {op.name_hint!r}",
                found="a body that is no copy of one element", where=f"\n{op}",
                legal="B_[...] = B[...]",
            ))  # fmt: skip
        self.found[store.buffer] = (load.buffer, _map_of(store, load))
        nothing = s.Evaluate(ops.const(0), op.span)
        return with_fields(op, reads=(), writes=(), body=nothing)


def _copied(value: PrimExpr) -> e.BufferLoad | None:
    """The element that a copy takes, where it takes one and not a literal."""
    if isinstance(value, e.Call) and getattr(value.op, "name", "") == "tir.if_then_else":
        _, value, other = value.args
        if not isinstance(other, (e.IntImm, e.FloatImm)):
            return None
    return value if isinstance(value, e.BufferLoad) else None


def _map_of(store: s.BufferStore, load: e.BufferLoad) -> IndexMap | None:
    """Where each element goes; None where the store does not say that of the load's indices."""
    variables = [index for index in load.indices if isinstance(index, e.Var)]
    plain = store.value is load and len(variables) == len(load.indices)
    return IndexMap(variables, store.indices) if plain else None


class _Weights(StmtExprMutator):
    """The old buffers, in their new shapes, where the rewritten ones were used."""

    def __init__(self, remover: _Remover, fitted: dict[e.Var, Buffer]) -> None:
        super().__init__()
        self._skip = remover.skip
        self._maps = dict(
            (old.data, (new, index_map)) for new, (old, index_map) in remover.found.items()
        )
        self._fitted = fitted
        self._old = {old for old, _ in remover.found.values()}
        for new, (old, _) in remover.found.items():
            self.buffers[new] = self.buffers[old] = fitted[old.data]

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        return self.buffers[buffer] if buffer in self._old else super().visit_buffer_def(buffer)

    def visit_region(self, region: s.BufferRegion) -> s.BufferRegion:
        if region.buffer not in self._old:
            return super().visit_region(region)
        # a block around those that are gone: all of it, as the old indices mean nothing now
        return s.BufferRegion.full_region(self.buffers[region.buffer])

    def visit_allocate_const_(self, op: s.AllocateConst) -> s.Stmt:
        new = super().visit_allocate_const_(op)
        shaped = self._fitted.get(op.buffer_var)
        if shaped is None or not isinstance(new, s.AllocateConst) or new.data is None:
            return new
        extents = [int(extent) for extent in shaped.shape]  # type: ignore[call-overload]
        if self._skip:
            data = make_tensor(np.zeros(extents, new.data.dtype))
        else:
            data = self._map(op).map_tensor(make_tensor(new.data.numpy()))
        return s.AllocateConst(
            op.buffer_var, op.dtype, shaped.shape, data, new.body, op.annotations, op.span
        )

    def _map(self, op: s.AllocateConst) -> IndexMap:
        written, index_map = self._maps[op.buffer_var]
        if index_map is None:
            raise CheckError(message(
                f"RemoveWeightLayoutRewriteBlock: the constant {op.buffer_var.name!r}",
                found=f"a block that writes {written.name} and is no load at its variables",
                legal="a load at the variables of the block, or skip_tensor_rewrite=True",
            ))  # fmt: skip
        return index_map
