"""Generic products of matrices brought to one form: C[s, i, j] += A[s, i, k] * B[s, j, k].

Variables are fused by role: `s` is in all three buffers, `i` in A and C, `j` in B and C, `k` is
summed and in A and B. Variables of extent 1 (`t`) go away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from tvm.ir.expr import PrimExpr
from tvm.tir.analysis import undefined_vars
from tvm.tir.expr import IntImm, IterVar, Var
from tvm.tir.index_map import IndexMap
from tvm.tir.op.arith import is_one
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.schedule.analysis.affine import simplified_indices
from tvm.tir.stmt import Block, BufferRegion


class IterKind(Enum):
    """The roles of variables in a product of matrices."""

    kIter_S = 0
    kIter_I = 1
    kIter_J = 2
    kIter_K = 3
    kIter_T = 4


@dataclass
class IterTrait:
    """A variable's role and extent."""

    kind: IterKind
    extent: PrimExpr


S, I, J, K, T = IterKind
Traits = list[IterTrait]

# (in A, in B, in C) of a variable, by whether it is summed
_ROLES = {
    (False, (True, True, True)): S,
    (False, (True, False, True)): I,
    (False, (False, True, True)): J,
    (True, (True, True, False)): K,
}


def make_iter_fusion_index_map(
    traits: Sequence[IterTrait], kind_order: Sequence[IterKind]
) -> IndexMap:
    """The map that fuses variables of one kind, kinds in the order given; absent ones are 0."""
    inputs = [Var(f"i{n}", trait.extent.dtype) for n, trait in enumerate(traits)]
    fused: dict[IterKind, PrimExpr] = {}
    for var, trait in zip(inputs, traits):
        if trait.kind is T:
            continue
        if trait.kind not in kind_order:
            raise ValueError(
                f"Unknown iter kind {trait.kind}; legal: {[kind.name for kind in kind_order]}"
            )
        outer = fused.get(trait.kind)
        fused[trait.kind] = var if outer is None else outer * trait.extent + var
    zero = IntImm(inputs[0].dtype if inputs else "int64", 0)
    return IndexMap(inputs, [fused.get(kind, zero) for kind in kind_order], None)


def detect_iter_traits(block: Block) -> tuple[Traits, Traits, Traits, Traits] | None:
    """The traits of A's, B's, C's and the block's variables; None if it is no such product."""
    if len(block.reads) != 2 or len(block.writes) != 1:
        return None
    operands = [_variables(block, region) for region in (*block.reads, *block.writes)]
    a, b, c = operands
    if a is None or b is None or c is None:
        return None
    traits: dict[Var, IterTrait] = {}
    for iv in block.iter_vars:
        assert iv.dom is not None, "block variables have domains"
        if is_one(iv.dom.extent):
            kind: IterKind | None = T
        elif iv.iter_type not in (IterVar.DataPar, IterVar.CommReduce):
            return None
        else:
            summed = iv.iter_type == IterVar.CommReduce
            kind = _ROLES.get((summed, (iv.var in a, iv.var in b, iv.var in c)))
        if kind is None:
            return None
        traits[iv.var] = IterTrait(kind, iv.dom.extent)
    if not {I, J, K} <= {trait.kind for trait in traits.values()}:
        return None
    of_a, of_b, of_c = ([t for v, t in traits.items() if v in axes] for axes in (a, b, c))
    return of_a, of_b, of_c, list(traits.values())


def _variables(block: Block, region: BufferRegion) -> set[Var] | None:
    """The variables that index a region of one element; None for larger regions."""
    if not all(is_one(part.extent) for part in region.region):
        return None
    found: set[Var] = set()
    for index in simplified_indices(block, [part.min for part in region.region]):
        found.update(undefined_vars(index))
    return found


def get_index_map(block: Block) -> tuple[IndexMap, IndexMap, IndexMap, IndexMap] | None:
    """The maps of the block's variables and of A's, B's and C's layouts to the one form."""
    traits = detect_iter_traits(block)
    if traits is None:
        return None
    of_a, of_b, of_c, own = traits
    return (
        make_iter_fusion_index_map(own, [S, I, J, K]),
        make_iter_fusion_index_map(of_a, [S, I, K]),
        make_iter_fusion_index_map(of_b, [S, J, K]),
        make_iter_fusion_index_map(of_c, [S, I, J]),
    )


def bring_to_form(sch: Schedule, block: BlockRV) -> bool:
    """Let the block run over s, i, j, k, on buffers laid out that way; False if it is no product.

    The copies into those layouts are blocks of their own, for the schedule to inline.
    """
    maps = get_index_map(sch.get(block))
    if maps is None:
        return False
    own, *layouts = maps
    for (end, index, other), layout in zip(
        (("read", 0, "write"), ("read", 1, "write"), ("write", 0, "read")), layouts
    ):
        copy = sch.reindex(block, (end, index))
        sch.transform_layout(copy, (other, 0), layout)
    sch.transform_block_layout(block, own)
    return True
