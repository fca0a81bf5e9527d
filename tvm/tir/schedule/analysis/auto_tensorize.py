"""How a block's variables are fused so that an intrinsic can compute it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tvm.arith import Analyzer
from tvm.error import message
from tvm.ffi.object import Object
from tvm.ir.expr import PrimExpr
from tvm.tir.analysis.deep_equal import expr_deep_equal
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, IntImm, IterVar, Var
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, uses_var, walk
from tvm.tir.index_map import IndexMap
from tvm.tir.schedule.random_variable import BlockRV
from tvm.tir.schedule.schedule import Schedule
from tvm.tir.stmt import Block, BufferStore

from .affine import simplified_indices
from .query import realize_of
from .tensorize_loops import desc_parts

Accesses = dict[Buffer, tuple[PrimExpr, ...]]


class AutoTensorizeMappingInfo(Object):
    """A block (left-hand side) beside a description (right-hand side) of the same computation.

    `mappings` are maps of the block's variables to those of the description, with what the
    description has no variable for in front. `lhs_buffer_map` gives the buffer of the
    description for each of the block's, `rhs_indices` the indices that the description accesses.
    """

    __slots__ = ("lhs_buffer_map", "lhs_iters", "mappings", "rhs_indices", "rhs_iters")

    def __init__(
        self,
        mappings: Sequence[IndexMap],
        lhs_buffer_map: Mapping[Buffer, Buffer],
        rhs_indices: Mapping[Buffer, Sequence[PrimExpr]],
        lhs_iters: Sequence[IterVar],
        rhs_iters: Sequence[IterVar],
    ) -> None:
        self.mappings: Final = list(mappings)
        self.lhs_buffer_map: Final = dict(lhs_buffer_map)
        self.rhs_indices: Final = {buffer: list(at) for buffer, at in rhs_indices.items()}
        self.lhs_iters: Final = list(lhs_iters)
        self.rhs_iters: Final = list(rhs_iters)


def get_auto_tensorize_mapping_info(
    sch: Schedule, block: BlockRV, desc_func: PrimFunc
) -> AutoTensorizeMappingInfo | None:
    """How the block computes what `desc_func` describes; None if it computes something else.

    A variable of the block belongs to the variable of the description of the same kind that moves
    the same buffers.
    """
    node, desc = _sides(sch, block, desc_func)
    found = _same_store(node, desc)
    if found is None:
        return None
    ours, theirs, buffers = found
    literal = next((i for at in theirs.values() for i in at if isinstance(i, IntImm)), None)
    if literal is not None:
        raise ValueError(
            message(
                "get_auto_tensorize_mapping_info: an index of the description is no variable",
                found=str(literal),
                legal="a description that accesses its buffers at variables",
            )
        )
    mapping = _fused(node, desc, ours, theirs, buffers)
    if mapping is None:
        return None
    return AutoTensorizeMappingInfo([mapping], buffers, theirs, node.iter_vars, desc.iter_vars)


def stores_the_same(sch: Schedule, block: BlockRV, desc_func: PrimFunc) -> bool:
    """True if the block stores what `desc_func` describes, whatever the loops around it are."""
    return _same_store(*_sides(sch, block, desc_func)) is not None


def _sides(sch: Schedule, block: BlockRV, desc_func: PrimFunc) -> tuple[Block, Block]:
    node = realize_of(sch.state, sch.get_sref(block)).block
    return node, desc_parts(desc_func)[1].block


def _same_store(
    node: Block, desc: Block
) -> tuple[Accesses, Accesses, dict[Buffer, Buffer]] | None:
    """Both sides' accesses, and the pairs of buffers; None if they store different values."""
    theirs, ours = _accesses(desc), _accesses(node)
    if theirs is None or ours is None:
        return None
    if not all(isinstance(index, Var | IntImm) for at in theirs.values() for index in at):
        return None  # a layout of registers, say, tells no axes apart
    buffers = _paired(desc, node)
    return None if buffers is None else (ours, theirs, buffers)


def _accesses(block: Block) -> Accesses | None:
    """Where a block that is one store accesses each buffer; None if at several indices."""
    if not isinstance(block.body, BufferStore):
        return None
    found: Accesses = {}
    loads = [n for n in walk(block.body.value) if isinstance(n, BufferLoad)]
    accesses: list[BufferStore | BufferLoad] = [block.body, *loads]
    for access in accesses:
        known = found.setdefault(access.buffer, access.indices)
        if not all(expr_deep_equal(a, b) for a, b in zip(known, access.indices)):
            return None
    return {buffer: simplified_indices(block, at) for buffer, at in found.items()}


class _AsOurs(StmtExprMutator):
    """Replaces the description's loads by those of the block."""

    def __init__(self, loads: Mapping[BufferLoad, BufferLoad]) -> None:
        super().__init__()
        self._loads = loads

    def visit_buffer_load_(self, op: BufferLoad) -> PrimExpr:
        return self._loads[op]


def _paired(desc: Block, node: Block) -> dict[Buffer, Buffer] | None:
    """The buffer of the description for each of the block's, if both store the same value."""
    theirs, ours = desc.body, node.body
    assert isinstance(theirs, BufferStore), "asked for only then"
    assert isinstance(ours, BufferStore), "asked for only then"
    left = [n for n in walk(ours.value) if isinstance(n, BufferLoad)]
    right = [n for n in walk(theirs.value) if isinstance(n, BufferLoad)]
    pairs = [(ours.buffer, theirs.buffer), *[(a.buffer, b.buffer) for a, b in zip(left, right)]]
    found: dict[Buffer, Buffer] = {}
    for a, b in pairs:
        if a.dtype is not b.dtype or found.setdefault(a, b) is not b:
            return None
    if len(left) != len(right) or len(set(found.values())) != len(found):
        return None
    value = _AsOurs(dict(zip(right, left))).visit_expr(theirs.value)
    return found if expr_deep_equal(value, ours.value) else None


def _moved(
    var: Var, accesses: Accesses, names: Mapping[Buffer, Buffer] | None = None
) -> set[Buffer]:
    """The buffers whose accessed index depends on a variable, as the description calls them."""
    return {
        buffer if names is None else names[buffer]
        for buffer, indices in accesses.items()
        if any(uses_var(index, var) for index in indices)
    }


def _fused(
    node: Block,
    desc: Block,
    ours: Accesses,
    theirs: Accesses,
    buffers: Mapping[Buffer, Buffer],
) -> IndexMap | None:
    """The map; None if a variable of the description has none of the block's, or not clearly."""
    names = [iv.var.copy_with_name(iv.var.name) for iv in node.iter_vars]
    in_front: list[PrimExpr] = []
    sums: dict[Var, PrimExpr] = {}
    for iv, name in zip(node.iter_vars, names):
        assert iv.dom is not None, "block variables have domains"
        moved = _moved(iv.var, ours, buffers)
        partners = [
            other.var
            for other in desc.iter_vars
            if other.iter_type == iv.iter_type and _moved(other.var, theirs) == moved
        ]
        if len(partners) > 1:
            return None
        if not partners:
            in_front.append(name)
            continue
        known = sums.get(partners[0])
        sums[partners[0]] = name if known is None else known * iv.dom.extent + name
    if len(sums) < len(desc.iter_vars):
        return None
    analyzer = Analyzer()
    fused = [analyzer.simplify(sums[iv.var]) for iv in desc.iter_vars]
    return IndexMap(names, [*in_front, *fused], None)
