"""Whether a block reads only what a buffer holds, or also runs where there is nothing to read."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from tvm.arith import Analyzer, ProofStrength
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.buffer import Buffer
from tvm.tir.expr import FloorDiv, IntImm, Var
from tvm.tir.functor import substitute, vars_in, walk
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
    doms = {iv.var: iv.dom for iv in block.iter_vars if iv.dom is not None}
    extents = {var: dom.extent for var, dom in doms.items()}
    run = [extent > 0 for extent in extents.values() if not isinstance(extent, IntImm)]
    with analyzer.constraint_scope(functools.reduce(logical_and, [*run, *where], _TRUE)):
        for index, extent in zip(indices, buffer.shape):
            names = set(vars_in(index))
            if names and names.isdisjoint(extents):
                continue
            below = (
                analyzer.can_prove(index < extent)
                or (isinstance(index, Var) and _is_rounded_up(extents.get(index), extent, analyzer))
                or analyzer.can_prove(index < extent, ProofStrength.SYMBOLIC_BOUND)
            )
            if analyzer.can_prove(index >= 0) and below:
                continue
            first, last = (_end(index, doms, analyzer, largest) for largest in (False, True))
            if first is None or last is None or not analyzer.can_prove(first >= 0):
                return index
            fits = analyzer.can_prove(last < extent) or _is_rounded_up(last + 1, extent, analyzer)
            if not fits:
                return index
    return None


def _end(
    index: PrimExpr, doms: Mapping[Var, Range], analyzer: Analyzer, largest: bool
) -> PrimExpr | None:
    """The largest (or smallest) value of an index that grows evenly with all its variables.

    `i * m + j` is even where `m`, an extent, is no number: no interval of numbers holds it.
    """
    for var, dom in doms.items():
        step = analyzer.simplify(substitute(index, {var: var + 1}) - index)
        if not doms.keys().isdisjoint(vars_in(step)) or not analyzer.can_prove(step >= 0):
            return None
        end = dom.min + dom.extent - 1 if largest else dom.min
        index = substitute(index, {var: end})
    return analyzer.simplify(index)


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
