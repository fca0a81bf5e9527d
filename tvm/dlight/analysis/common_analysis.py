"""Blocks as rules see them: their loops, and which of them reduce."""

from __future__ import annotations

import math
from typing import Literal

from tvm.ir.expr import PrimExpr, Range
from tvm.target.target import Target
from tvm.tir.expr import IntImm, IterVar, Var
from tvm.tir.functor import vars_in, walk
from tvm.tir.index_map import IndexMap
from tvm.tir.op.arith import is_one, is_zero
from tvm.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from tvm.tir.schedule.analysis.blocks import is_reduction
from tvm.tir.schedule.analysis.query import realize_of
from tvm.tir.stmt import AttrStmt, Block, For, Stmt

_KINDS: dict[int, Literal["S", "R", "O"]] = {IterVar.DataPar: "S", IterVar.CommReduce: "R"}


class IterInfo:
    """A variable of a block with its loop: spatial (S), reducing (R) or other (O)."""

    def __init__(
        self, kind: Literal["S", "R", "O"], var: Var, dom: PrimExpr, loop_rv: LoopRV
    ) -> None:
        self.kind: Literal["S", "R", "O"] = kind
        self.var = var
        self._dom = dom
        self.loop_rv = loop_rv

    @property
    def dom(self) -> int | PrimExpr:
        """The extent, as an int where it is one."""
        return self._dom.value if isinstance(self._dom, IntImm) else self._dom

    def __str__(self) -> str:
        return f'Iter("{self.kind}", {self.dom})'

    __repr__ = __str__


class BlockInfo:
    """A block with its variables."""

    def __init__(
        self, name: str, iters: list[IterInfo], block_rv: BlockRV, reduction_block: bool = False
    ) -> None:
        self.name = name
        self.iters = iters
        self.block_rv = block_rv
        self._reduction_block = reduction_block

    def dom(self) -> list[int | PrimExpr]:
        """The extents of the variables."""
        return [i.dom for i in self.iters]

    def dom_kind(self) -> str:
        """The kinds of the variables, as in "SSR"."""
        return "".join(i.kind for i in self.iters)

    def known_size(self, kind: str) -> tuple[int, bool]:
        """The extents of the variables of a kind that are known, multiplied; whether all are."""
        known = [i.dom for i in self.iters if i.kind == kind and isinstance(i.dom, int)]
        return math.prod(known), len(known) == self.dom_kind().count(kind)

    def is_injective(self) -> bool:
        """True if all variables are spatial."""
        return all(k == "S" for k in self.dom_kind())

    def is_elementwise(self, sch: Schedule) -> bool:
        """True if each element is made of the elements at its own indices."""
        block: Block = sch.get(self.block_rv)
        if not self.is_injective() or len(block.reads) != 1 or len(block.writes) != 1:
            return False
        return all(
            is_one(r.extent) and is_one(w.extent) and r.min is w.min
            for r, w in zip(block.reads[0].region, block.writes[0].region)
        )

    def is_reduction(self) -> bool:
        """True if the block reduces."""
        return self._reduction_block

    def is_gemv(self) -> bool:
        """Kept for older scripts; see `dlight.analysis.gemv.is_gemv`."""
        return self._reduction_block and self.dom_kind().count("R") == 1

    def is_gemm(self) -> bool:
        """Kept for older scripts; see `dlight.analysis.find_contraction`."""
        return self._reduction_block and self.dom_kind().count("S") >= 2

    def __str__(self) -> str:
        return f'BlockInfo("{self.name}", "{self.dom_kind()}", {self.dom()})'

    __repr__ = __str__


def normalize_prim_func(sch: Schedule) -> list[BlockInfo] | None:
    """The blocks of the function, in order, each with one loop a variable; None if one has others.

    Variables of extent 1 go away. A block without data-parallel ones gets one, so that rules
    always find something to spread over threads, unless it has threads of its own. Where all is
    one block in loops of its own (a product for each expert, say), its inner blocks are those
    that count.
    """
    if not _has_root(sch):
        return None
    blocks = sch.get_child_blocks(get_root_block(sch, _only_name(sch)))
    while len(blocks) == 1 and (inner := sch.get_child_blocks(blocks[0])):
        blocks = inner
    if not all(_is_plain(sch, rv) for rv in blocks):
        return None
    try:
        return [_normalized(sch, rv) for rv in blocks]
    except ScheduleError:
        return None


def _only_name(sch: Schedule) -> str:
    (gvar,) = [g for g, _ in sch.state.roots()]
    return gvar.name_hint


def _is_plain(sch: Schedule, rv: BlockRV) -> bool:
    """Whether the block's variables are its loops, which begin at zero, in order."""
    loops = [sch.get(loop) for loop in sch.get_loops(rv)]
    values = realize_of(sch.state, sch.get_sref(rv)).iter_values
    if not loops:
        return True
    return len(loops) == len(values) and all(
        loop.loop_var is value and is_zero(loop.min) for loop, value in zip(loops, values)
    )


def _normalized(sch: Schedule, rv: BlockRV) -> BlockInfo:
    if not sch.get_loops(rv):  # of one element: its variables, if it has some, stand at zero
        return _of_one_element(sch, rv)
    sch.transform_block_layout(rv, _without_units(sch.get(rv)))
    block: Block = sch.get(rv)
    iters = [
        IterInfo(_KINDS.get(iv.iter_type, "O"), iv.var, iv.dom.extent, loop)
        for iv, loop in zip(block.iter_vars, sch.get_loops(rv))
        if iv.dom is not None
    ]
    reduces = is_reduction(sch.state, sch.get_sref(rv))
    return BlockInfo(block.name_hint, iters, rv, reduces)


def _of_one_element(sch: Schedule, rv: BlockRV) -> BlockInfo:
    block: Block = sch.get(rv)
    if not block.iter_vars and launches_threads(block.body):
        return BlockInfo(block.name_hint, [], rv, False)
    loop = sch.add_unit_loop(rv)
    units = [IterInfo("S", iv.var, iv.dom.extent, loop)
             for iv in block.iter_vars[:1] if iv.dom is not None]  # fmt: skip
    return BlockInfo(block.name_hint, units, rv, False)


def launches_threads(body: Stmt) -> bool:
    """Whether a block has threads of its own within."""
    return any(
        (isinstance(node, For) and node.thread_binding is not None)
        or (isinstance(node, AttrStmt) and node.attr_key == "thread_extent")
        for node in walk(body)
    )


def _without_units(block: Block) -> IndexMap:
    inputs = [Var(iv.var.name, iv.var.dtype) for iv in block.iter_vars]
    moving = [
        (iv, var)
        for iv, var in zip(block.iter_vars, inputs)
        if iv.dom is not None and not is_one(iv.dom.extent)
    ]
    outputs: list[PrimExpr] = [var for _, var in moving]
    if all(iv.iter_type != IterVar.DataPar for iv, _ in moving):
        outputs.insert(0, IntImm("int64", 0))
    return IndexMap(inputs, outputs, None)


def _has_root(sch: Schedule) -> bool:
    roots = [root.stmt for _, root in sch.state.roots()]
    return len(roots) == 1 and isinstance(roots[0], Block) and roots[0].name_hint == "root"


def get_root_block(sch: Schedule, func_name: str = "main") -> BlockRV:
    """The root block of a function."""
    root = next((r for g, r in sch.state.roots() if g.name_hint == func_name), None)
    if root is None or not isinstance(root.stmt, Block):
        raise ValueError(f"The module has no TIR function {func_name!r}")
    return sch.get_block(root.stmt.name_hint, func_name=func_name)


def get_max_threads_per_block(target: Target) -> int:
    """How many threads a block of the target may have."""
    for name in ("max_threads_per_block", "max_num_threads"):
        value = target.attrs.get(name)
        if value is not None:
            return int(value)
    return 64


def get_max_shared_memory_per_block(target: Target) -> int:
    """How many bytes of shared memory a block may have."""
    value = target.attrs.get("max_shared_memory_per_block")
    if value is None:
        raise ValueError(
            f"Cannot find `max_shared_memory_per_block` in {target}, please specify it manually"
        )
    return int(value)


def collect_block_iter_vars_used_in_access_region(
    block: Block, region: list[Range]
) -> set[Var]:
    """The block variables that single-element bounds of a region name."""
    names = {iv.var for iv in block.iter_vars}
    found: set[Var] = set()
    for part in region:
        if is_one(part.extent):
            found |= {v for v in collect_vars_used_in_prim_expr(part.min) if v in names}
    return found


def collect_vars_used_in_prim_expr(expr: PrimExpr) -> set[Var]:
    """The variables of an expression."""
    return set(vars_in(expr))


def detect_dominant_read(block: Block) -> PrimExpr:
    """Where the block reads most: the flattened index of the region with most variables."""
    best: tuple[int, PrimExpr | None] = (-1, None)
    for region in block.reads:
        used = collect_block_iter_vars_used_in_access_region(block, list(region.region))
        if len(used) > best[0]:
            (offset,) = region.buffer.offset_of([r.min for r in region.region])
            best = (len(used), offset)
    assert best[1] is not None, "the block reads something"
    return best[1]


def is_broadcast_epilogue(sch: Schedule, block: BlockRV, epilogue: BlockRV) -> bool:
    """True if the epilogue reads the result with fewer index variables than it has itself.

    The one variable of an epilogue of one element counts: all threads run that, as in v0.22.
    """
    written = {w.buffer for w in sch.get(block).writes}
    node: Block = sch.get(epilogue)
    names = {iv.var for iv in node.iter_vars}
    for region in node.reads:
        if region.buffer in written:
            used = collect_block_iter_vars_used_in_access_region(node, list(region.region))
            if used < names:
                return True
    return False
