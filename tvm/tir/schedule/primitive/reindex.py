"""Access a buffer through a copy that is indexed by the block's variables."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.arith import Analyzer
from tvm.ir.type import PointerType
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import IterVar, Var
from tvm.tir.functor import vars_in
from tvm.tir.op.arith import is_zero
from tvm.tir.schedule.analysis.affine import simplified_indices
from tvm.tir.schedule.copied_access import CopiedAccess
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.tree import SRefTree

KIND = kind("ReIndex", "reindex", "block", "@buffer")


def reindex(state: SRefTree, block: StmtSRef, buffer: tuple[str, int]) -> StmtSRef:
    """Make a buffer with one dimension for each block variable that the access uses, and the copy.

    C[i] += A[i * 2 + k]   ->   A_reindex[i, k] = A[i * 2 + k]
                                C[i] += A_reindex[i, k]
    """
    access = CopiedAccess(state, block, buffer[1], written=buffer[0] == "write")
    access.indices = simplified_indices(access.node, access.indices)
    used = set(vars_in(*access.indices))
    axes = [iv for iv in access.node.iter_vars if iv.var in used]
    return access.through(_reindexed(access.buffer, axes), axes, [iv.var for iv in axes])


def _reindexed(buffer: Buffer, axes: Sequence[IterVar]) -> Buffer:
    kept = buffer.data.type_annotation
    assert isinstance(kept, PointerType), "the constructor of Buffer made sure"
    name = f"{buffer.name}_reindex"
    doms = [iv.dom for iv in axes if iv.dom is not None]  # the copy has room for what is below
    shape = [d.extent if is_zero(d.min) else Analyzer().simplify(d.min + d.extent) for d in doms]
    data = Var(name, PointerType(kept.element_type, buffer.scope()))
    return buffer.with_changes(
        data=data, name=name, shape=tuple(shape), strides=(), elem_offset=None, axis_separators=()
    )
