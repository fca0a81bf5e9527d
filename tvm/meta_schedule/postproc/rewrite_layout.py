"""Buffers whose layout is free lie as the block that reads them goes through them."""

from __future__ import annotations

from typing import Any

from tvm.error import TVMError, message
from tvm.meta_schedule.structure import PREPROC, func_names
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad
from tvm.tir.function import PrimFunc
from tvm.tir.functor import children, statements, substitute, walk
from tvm.tir.index_map import IndexMap
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.schedule.analysis import suggest_index_map
from tvm.tir.schedule.analysis.query import block_of, loop_of, loops_above, realize_of
from tvm.tir.stmt import Block, BlockRealize

from .postproc import Postproc

FREE = "layout_free_buffers"  # the attribute of functions: numbers of parameters


class RewriteLayout(Postproc):
    """Copies each free buffer to the layout that its reader wants, in a block that others remove.

    The copy is marked `meta_schedule.layout_rewrite_preproc`: it is done once, ahead of all runs.
    """

    def __init__(self) -> None:
        pass

    def apply(self, sch: Schedule) -> bool:
        """Always True."""
        for name, func in func_names(sch):
            for buffer in _free_buffers(func):
                _rewrite(sch, name, buffer)
        return True


def _free_buffers(func: PrimFunc) -> list[Buffer]:
    numbers: Any = func.attrs.get(FREE, ())
    return [func.buffer_map[func.params[int(i)]] for i in numbers]


def _rewrite(sch: Schedule, func_name: str, buffer: Buffer) -> None:
    _require_in_blocks(dict(func_names(sch))[func_name], buffer)
    chain: list[BlockRV] = []
    reader = _reader(sch, func_name, buffer)
    while reader is not None and _is_copy(sch, reader):
        # a copy that tiling made: the layout is that of whoever reads the copy
        chain.append(reader)
        users = sch.get_consumers(reader)
        if len(users) != 1:
            return
        reader = users[0]
    if reader is None:
        return
    read = sch.get(chain[-1]).writes[0].buffer if chain else buffer
    index_map = _wanted_map(sch, reader, read)
    if index_map is None:
        return
    first = chain[0] if chain else reader
    copy = sch.cache_read(first, _number(sch.get(first), buffer), "global")
    sch.annotate(copy, PREPROC, True)
    for made in [copy, *chain]:
        sch.transform_layout(made, ("write", 0), index_map)


def _require_in_blocks(func: PrimFunc, buffer: Buffer) -> None:
    """Refuse a free buffer that is read where no block says how loops go through it."""
    stack: list[Any] = [func.body.block.body if isinstance(func.body, BlockRealize) else func.body]
    while stack:
        node = stack.pop()
        if isinstance(node, BufferLoad) and node.buffer is buffer:
            raise TVMError(
                message(
                    f"RewriteLayout: the layout of {buffer.name!r} is free",
                    found=f"the load {node} outside of any block",
                    legal="buffers that blocks read",
                )
            )
        if not isinstance(node, BlockRealize):
            stack.extend(children(node))


def _reader(sch: Schedule, func_name: str, buffer: Buffer) -> BlockRV | None:
    """The only block that reads a buffer."""
    func = dict(func_names(sch))[func_name]
    readers = [
        node.name_hint
        for node in statements(func.body, Block) if any(r.buffer is buffer for r in node.reads)
    ]
    return sch.get_block(readers[-1], func_name) if len(set(readers)) == 1 else None


def _is_copy(sch: Schedule, block: BlockRV) -> bool:
    node: Block = sch.get(block)
    body = getattr(node.body, "value", None)
    return isinstance(body, BufferLoad) and node.init is None and len(node.writes) == 1


def _number(node: Block, buffer: Buffer) -> int:
    return next(i for i, region in enumerate(node.reads) if region.buffer is buffer)


def _wanted_map(sch: Schedule, reader: BlockRV, buffer: Buffer) -> IndexMap | None:
    """The layout in which the loops around a block go through a buffer from front to back."""
    sref = sch.get_sref(reader)
    realize = realize_of(sch.state, sref)
    loads = [n for n in walk(block_of(sref).body) if isinstance(n, BufferLoad)]
    indices = [load.indices for load in loads if load.buffer is buffer]
    if not indices:
        return None
    values = dict(zip([iv.var for iv in realize.block.iter_vars], realize.iter_values))
    return suggest_index_map(
        buffer,
        [substitute(index, values) for index in indices[0]],
        [loop_of(above) for above in loops_above(sref)],
        realize.predicate,
    )
