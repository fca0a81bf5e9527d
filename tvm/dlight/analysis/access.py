"""How a block walks through the buffer that it reads most."""

from __future__ import annotations

from tvm.arith import IterSumExpr, normalize_to_iter_sum
from tvm.arith.iter_map_expr import IterMapFailure
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.expr import IntImm, Var
from tvm.tir.functor import uses_any
from tvm.tir.stmt import Block

from .common_analysis import detect_dominant_read


def dominant_access(block: Block) -> IterSumExpr | None:
    """The flattened index of the widest read as a sum over block variables, slowest first."""
    domains = {iv.var: iv.dom for iv in block.iter_vars if iv.dom is not None}
    if not block.reads:
        return None
    return iter_sum(detect_dominant_read(block), domains)


def iter_sum(index: PrimExpr, domains: dict[Var, Range]) -> IterSumExpr | None:
    """The index as a sum over variables; None if it is none."""
    try:
        found = normalize_to_iter_sum(index, domains)
    except (IterMapFailure, ValueError):
        return None
    # what is no map of the variables is left in the base
    return None if uses_any(found.base, domains) else found


def split_terms(access: IterSumExpr) -> list[tuple[Var, int]]:
    """The variables of the sum, each with the factor by which it is divided.

    A sum of parts that are no variables has no such list: it comes back empty.
    """
    found: list[tuple[Var, int]] = []
    for part in access.args:
        var, factor = part.source.source, part.lower_factor
        if not isinstance(var, Var) or not isinstance(factor, IntImm):
            return []
        found.append((var, factor.value))
    return found
