"""Layout transforms on GPUs: squares of the tensor go through shared memory.

Neighbouring threads are fast only where they touch neighbouring elements. A transposition reads
along one axis and writes along another, so that one of the two is slow. Here each thread block
takes a tile with a run of elements along the source's last axes and one along the destination's:
it is read in the source's order into shared memory, and written in the destination's.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable
from typing import Final

from tvm.error import ScheduleError, message
from tvm.ffi import register_global_func
from tvm.target import Target
from tvm.tir.data_layout import Layout, layout
from tvm.tir.expr import IntImm
from tvm.tir.schedule import BlockRV, ExprRV, LoopRV, Schedule

_LOGGER = logging.getLogger(__name__)
_WARP: Final = 32  # threads that move together, where the target does not say
_MAX_THREADS: Final = 256
_SIZES: Final = (2, 4, 8, 16, 32, 64)


def tile_layout_transform(
    sch: Schedule,
    block_read: BlockRV,
    block_write: BlockRV,
    src_layout: str,
    dst_layout: str,
    input_shape: list[int],
    tile_size: ExprRV | int,
) -> None:
    """Bind both halves of a layout transform to threads, one tile to each thread block.

    A tile has at least `tile_size` elements in a row in either layout, where the tensor has them.
    `block_read` copies from the source, of `input_shape`, into the buffer that `block_write` reads.
    """
    size = tile_size if isinstance(tile_size, int) else int(sch.get(tile_size))
    source, target = layout(src_layout), layout(dst_layout)
    extents = {
        axis: n * max(source.factor_of(axis), 1)
        for axis, n in zip(source.letters, input_shape)
        if axis.isupper()
    }
    tile = _tile(source, target, extents, size)

    loops = _own_loops(sch, block_write, target)
    steps = [
        tile[axis.upper()] if axis.islower() else -(-tile[axis] // max(target.factor_of(axis), 1))
        for axis in target.letters
    ]
    steps = [min(step, int(sch.get(loop).extent)) for step, loop in zip(steps, loops)]
    threads = _threads(steps)
    if threads < min(_WARP, math.prod(steps)):  # of no use: rather threads without an element
        steps = [1 << (step - 1).bit_length() for step in steps]
        threads = _threads(steps)
    halves = [sch.split(loop, [None, step]) for loop, step in zip(loops, steps)]
    outer, inner = zip(*halves)
    sch.reorder(*outer, *inner)
    blocks = sch.fuse(*outer)
    sch.bind(blocks, "blockIdx.x")
    _bind(sch, sch.fuse(*inner), threads)
    sch.compute_at(block_read, blocks, preserve_unit_loops=True)
    _, *copied = sch.get_loops(block_read)
    _bind(sch, sch.fuse(*copied), threads)


def _threads(steps: list[int]) -> int:
    """How many threads share a tile evenly."""
    elements = math.prod(steps)
    return max(n for n in range(1, _max_threads() + 1) if elements % n == 0)


def _own_loops(sch: Schedule, block: BlockRV, target: Layout) -> list[LoopRV]:
    loops = sch.get_loops(block)
    if len(loops) != len(target):
        raise ValueError(
            message(
                "tile_layout_transform",
                found=f"{len(loops)} loops around the block that writes layout {target.name}",
                legal="one for each of its axes",
            )
        )
    return loops


def _bind(sch: Schedule, loop: LoopRV, threads: int) -> None:
    _, thread = sch.split(loop, [None, threads])
    sch.bind(thread, "threadIdx.x")


# --- the tile ---


def _tile(source: Layout, target: Layout, extents: dict[str, int], size: int) -> dict[str, int]:
    """How far a tile reaches along each axis of the tensor."""
    read = _run(source, extents, size)
    found = _joined(read, _run(target, extents, size))
    length = size
    while length < size * size:  # runs along the same axes leave room for more
        length *= 2
        larger = _joined(read, _run(target, extents, length))
        if _elements(larger) > size * size:
            break
        found = larger
    return found


def _run(order: Layout, extents: dict[str, int], length: int) -> dict[str, int]:
    """How far `length` elements that follow each other in a layout reach along each axis."""
    reach = dict.fromkeys(extents, 1)
    left = length
    for position in range(len(order) - 1, -1, -1):
        axis = order.letters[position]
        name = axis.upper()
        n = extents[name]
        if axis.islower():
            own = order.axes[position].dom
            assert own is not None and isinstance(own.extent, IntImm), "blocks have known sizes"
            n = own.extent.value
        else:
            n = -(-n // max(order.factor_of(axis), 1))
        taken = min(n, left)
        reach[name] *= taken
        left = -(-left // taken)
    return reach


def _joined(a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
    return {axis: max(n, b[axis]) for axis, n in a.items()}


def _elements(tile: dict[str, int]) -> int:
    return math.prod(tile.values())


# --- the two blocks ---


def create_cached_read(
    sch: Schedule,
    block_write: BlockRV,
    orig_input_shape: list[int],
    orig_src_layout: str,
    orig_dst_layout: str,
) -> tuple[BlockRV, list[int], str, str]:
    """A block that copies what a layout transform reads into shared memory.

    With it come the input's shape and the two layouts, as `tile_layout_transform` takes them.
    """
    shape = [int(n) for n in orig_input_shape]
    reads = sch.get(block_write).reads
    alike = [
        i
        for i, region in enumerate(reads)
        if [int(n) if isinstance(n, IntImm) else None for n in region.buffer.shape] == shape
    ]
    block_read = sch.cache_read(block_write, alike[0] if alike else 0, "shared")
    return block_read, shape, layout(orig_src_layout).name, layout(orig_dst_layout).name


def auto_inline_into(sch: Schedule, start_block: BlockRV) -> BlockRV:
    """Inline consumers of a block, then producers, as far as that goes; the block that is left."""
    while True:
        consumers = sch.get_consumers(start_block)
        if len(consumers) != 1 or not _done(sch.reverse_compute_inline, consumers):
            break
    waiting = list(sch.get_producers(start_block))
    while waiting:
        producer = waiting.pop()
        before = sch.get_producers(producer)
        if _done(sch.compute_inline, [producer]):
            waiting += before
    return start_block


def _done(inline: object, blocks: Iterable[BlockRV]) -> bool:
    assert callable(inline)
    try:
        inline(*blocks)
    except ScheduleError:  # it has to stay a block of its own
        return False
    return True


def get_max_tile_size() -> int:
    """The longest run that is worth while: what one warp of the current target touches."""
    target = Target.current(allow_none=True)
    return _WARP if target is None else int(target.attrs.get("thread_warp_size", _WARP))


def _max_threads() -> int:
    target = Target.current(allow_none=True)
    allowed = _MAX_THREADS if target is None else target.attrs.get("max_num_threads", 0)
    return min(_MAX_THREADS, int(allowed) or _MAX_THREADS)


# --- the rule ---


@register_global_func("meta_schedule.cuda.layout_transform", override=True)
def cuda_layout_transform_schedule_rule(
    sch: Schedule, block: BlockRV, testing_tile_sizes: list[int] | None = None
) -> list[Schedule]:
    """Schedules of a block of `topi.layout_transform`, one for each size of tiles.

    The block says `src_layout`, `dst_layout` and `input_shape` in its annotations. Among the
    schedules is the one without tiles, unless `testing_tile_sizes` says which tiles there are.
    Sizes are left out whose tiles cannot be shown to be read whole before they are written.
    ValueError where the annotations are missing.
    """
    notes = sch.get(block).annotations
    missing = [k for k in ("src_layout", "dst_layout", "input_shape") if k not in notes]
    if missing:
        raise ValueError(
            message(
                "meta_schedule.cuda.layout_transform",
                found=f"block {sch.get(block).name_hint} without {', '.join(missing)}",
                legal="the annotations of topi.layout_transform",
            )
        )
    shape = [int(n) for n in notes["input_shape"] if isinstance(n, (int, IntImm))]
    if len(shape) < len(notes["input_shape"]):
        return [sch]  # tiles are cut for known extents
    sizes = testing_tile_sizes
    if sizes is None:
        sizes = [n for n in _SIZES if n <= get_max_tile_size()]
    found = [sch] if testing_tile_sizes is None else []
    for size in sizes:
        tiled = sch.copy()
        write = auto_inline_into(tiled, block)
        read, extents, source, target = create_cached_read(
            tiled, write, shape, str(notes["src_layout"]), str(notes["dst_layout"])
        )
        try:
            tile_layout_transform(tiled, read, write, source, target, extents, size)
        except ScheduleError as err:  # a tile over the edge, of which no proof is found
            _LOGGER.debug("no tiles of %d for %s: %s", size, sch.get(block).name_hint, err)
            continue
        found.append(tiled)
    return found
