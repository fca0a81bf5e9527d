"""How the accesses of a block move through memory as its loops advance."""

from __future__ import annotations

from collections.abc import Mapping

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.node import Node
from tvm.tir.buffer import Buffer
from tvm.tir.expr import (
    Add,
    BinaryOpExpr,
    BufferLoad,
    Call,
    Cast,
    CmpExpr,
    IntImm,
    IterVar,
    Mul,
    Select,
    Sub,
    Var,
    make_const,
)
from tvm.tir.function import PrimFunc
from tvm.tir.functor import children, substitute, walk
from tvm.tir.op.arith import is_one
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.schedule.analysis.interval import linear_terms
from tvm.tir.schedule.analysis.query import realize_of
from tvm.tir.stmt import Block, BufferStore

from .cost import SYMBOLIC

Strides = dict[Var, int | None]


def params_of(sch: Schedule) -> set[Buffer]:
    """The buffers of the function's caller: what is written to them has to be there."""
    func = sch.mod["main"]
    assert isinstance(func, PrimFunc), "rules schedule TIR functions"
    return set(func.buffer_map.values())


def accesses(block: Block) -> list[tuple[BufferLoad | BufferStore, Strides]]:
    """Each load and store, with the elements it moves by at one step of each block variable.

    None stands for a move that is not known to be constant.
    """
    domains = {iv.var: iv.dom for iv in block.iter_vars if iv.dom is not None}
    found: list[tuple[BufferLoad | BufferStore, Strides]] = []
    for stmt in (block.init, block.body):
        for node in () if stmt is None else walk(stmt):
            if not isinstance(node, (BufferLoad, BufferStore)) or not node.indices:
                continue
            (offset, *more) = node.buffer.offset_of(node.indices)
            if more:
                found.append((node, dict.fromkeys(domains)))
                continue
            if linear_terms(offset, domains) is None:
                offset = _simplified(offset, block)
            found.append((node, _moves(offset, domains)))
    return found


def _moves(offset: PrimExpr, domains: Mapping[Var, Range]) -> Strides:
    """The coefficient of each variable in a sum, None where it is a symbol or changes."""
    found: Strides = dict.fromkeys(domains, 0)
    stack: list[tuple[PrimExpr, int]] = [(offset, 1)]
    while stack:
        node, scale = stack.pop()
        factor = node.b if isinstance(node, Mul) else None
        terms = linear_terms(node, domains)
        if terms is not None:
            for var, coefficient in terms.items():
                known = found[var]
                found[var] = None if known is None else known + scale * coefficient
        elif isinstance(node, Add):
            stack += [(node.a, scale), (node.b, scale)]
        elif isinstance(node, Sub):
            stack += [(node.a, scale), (node.b, -scale)]
        elif isinstance(node, Mul) and isinstance(factor, IntImm):
            stack.append((node.a, scale * factor.value))
        elif isinstance(node, Cast) and _keeps_numbers(node):
            stack.append((node.value, scale))
        else:
            found.update({part: None for part in walk(node) if part in domains})
    return found


def _keeps_numbers(cast: Cast) -> bool:
    source = cast.value.dtype
    return source.is_int and cast.dtype.is_int and cast.dtype.bits >= source.bits


def _simplified(offset: PrimExpr, block: Block) -> PrimExpr:
    """The offset with split variables rejoined: i // n * n + i % n is i."""
    analyzer = Analyzer()
    for iv in block.iter_vars:
        if iv.dom is not None:
            analyzer.bind(iv.var, iv.dom)
    return analyzer.simplify(offset)


def access_strides(block: Block) -> list[Strides]:
    """How each load and store moves."""
    return [moves for _, moves in accesses(block)]


def used_as_values(block: Block) -> set[Var]:
    """Block variables that occur in conditions or values, not only in indices."""
    names = {iv.var for iv in block.iter_vars}
    found: set[Var] = set()
    stack: list[Node] = [s for s in (block.init, block.body) if s is not None]
    while stack:
        node = stack.pop()
        if isinstance(node, Var) and node in names:
            found.add(node)
        elif isinstance(node, BufferStore):
            stack.append(node.value)
        elif not isinstance(node, BufferLoad):
            stack.extend(children(node))
    return found


def is_unconditional(sch: Schedule, block: BlockRV) -> bool:
    """Whether a block runs for all values of its variables' domains."""
    return is_one(realize_of(sch.state, sch.get_sref(block)).predicate)


def size_of(iv: IterVar) -> PrimExpr:
    """The extent of a variable."""
    assert iv.dom is not None, "block variables have domains"
    return iv.dom.extent


def has_size(iv: IterVar, size: int) -> bool:
    """Whether the extent of a variable is this number."""
    found = size_of(iv)
    return isinstance(found, IntImm) and found.value == size


def extent(iv: IterVar) -> int | None:
    """The extent of a variable; None if symbolic."""
    size = None if iv.dom is None else iv.dom.extent
    return size.value if isinstance(size, IntImm) else None


def collapses(strides: list[Strides], outer: IterVar, inner: IterVar) -> bool:
    """True if every access strides as if both loops were one fused loop."""
    size = extent(inner)
    if size is None:
        return False
    for moves in strides:
        big, small = moves[outer.var], moves[inner.var]
        if big is None or small is None or big != small * size:
            return False
    return True


def is_vectorizable(strides: list[Strides], var: Var) -> bool:
    """True if every access stays in place or moves to the next element."""
    return all(moves[var] in (0, 1) for moves in strides)


def contiguous_run(block: Block, var: Var, most: int) -> int:
    """The largest power of two up to `most` of which aligned runs of `var` lie side by side.

    The index i // 56 * 58 + i % 56 has runs of 8: within each, only the last term moves.
    """
    width = 1
    while width * 2 <= most and _runs(block, var, width * 2):
        width *= 2
    return width


def _runs(block: Block, var: Var, width: int) -> bool:
    group, lane = Var("group", var.dtype), Var("lane", var.dtype)
    analyzer = Analyzer()
    for iv in block.iter_vars:
        if iv.dom is not None and iv.var is not var:
            analyzer.bind(iv.var, iv.dom)
        elif iv.dom is not None:
            count = analyzer.simplify((iv.dom.extent + (width - 1)) // width)
            analyzer.bind(group, Range.from_min_extent(make_const(0, var.dtype), count))
    domain = Range.from_min_extent(make_const(0, var.dtype), make_const(width, var.dtype))
    analyzer.bind(lane, domain)
    for node in walk(block.body):
        if isinstance(node, (BufferLoad, BufferStore)) and node.indices:
            offset = substitute(node.buffer.offset_of(node.indices)[0], {var: group * width + lane})
            terms = linear_terms(analyzer.simplify(offset), {lane: domain})
            if terms is None or terms.get(lane, 0) not in (0, 1):
                return False
    return True


def flops(block: Block) -> float:
    """Operations a run of the block's body, counting a call of a function as ten."""


    count = 0.0
    for node in walk(block.body):
        if isinstance(node, (BinaryOpExpr, CmpExpr, Select)) and node.dtype.is_floating:
            count += 1
        elif isinstance(node, Call):
            count += 10
    return count + 1


def volume(block: Block) -> float:
    """How often the block runs, with a guess for symbolic extents."""
    size = 1.0
    for iv in block.iter_vars:
        known = extent(iv)
        size *= SYMBOLIC if known is None else known
    return size
