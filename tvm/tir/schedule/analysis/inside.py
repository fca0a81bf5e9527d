"""Whether a block reads only what a buffer holds, or also runs where there is nothing to read."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from tvm.arith import Analyzer, ProofStrength
from tvm.ir.expr import PrimExpr
from tvm.tir.buffer import Buffer
from tvm.tir.expr import FloorDiv, IntImm, Var
from tvm.tir.functor import vars_in, walk
from tvm.tir.op.arith import floordiv, logical_and
from tvm.tir.stmt import Block

_TRUE: PrimExpr = IntImm("bool", 1)


def index_outside(
    block: Block, buffer: Buffer, indices: Sequence[PrimExpr], where: Sequence[PrimExpr] = ()
) -> PrimExpr | None:
    """An index that may lie outside of the buffer, for block variables for which `where` holds.

    A border is an example: 10 instances of v read B[v - 1] of 8 elements, two of them in vain.
    An index that only names of blocks around move is the same for all instances.
    """
    analyzer = Analyzer()
    for iv in block.iter_vars:
        if iv.dom is not None:
            analyzer.bind(iv.var, iv.dom)
    extents = {iv.var: iv.dom.extent for iv in block.iter_vars if iv.dom is not None}
    with analyzer.constraint_scope(functools.reduce(logical_and, where, _TRUE)):
        for index, extent in zip(indices, buffer.shape):
            names = set(vars_in(index))
            if names and names.isdisjoint(extents):
                continue
            below = (
                analyzer.can_prove(index < extent)
                or (isinstance(index, Var) and _is_rounded_up(extents.get(index), extent, analyzer))
                or analyzer.can_prove(index < extent, ProofStrength.SYMBOLIC_BOUND)
            )
            if not (analyzer.can_prove(index >= 0) and below):
                return index
    return None


def _is_rounded_up(size: PrimExpr | None, extent: PrimExpr, analyzer: Analyzer) -> bool:
    """True if the extent is the size, rounded up to a multiple."""
    if size is None:
        return False
    steps = {n.b.value for n in walk(extent) if isinstance(n, FloorDiv) and isinstance(n.b, IntImm)}
    return any(
        analyzer.can_prove_equal(extent, floordiv(size + (step - 1), step) * step)
        for step in steps
        if step > 0
    )
