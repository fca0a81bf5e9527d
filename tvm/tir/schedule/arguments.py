"""The many ways in which users name blocks, buffers and index maps, brought to one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tvm.ffi.object import Object
from tvm.ir.expr import PrimExpr
from tvm.support.suggest import did_you_mean
from tvm.tir.buffer import Buffer
from tvm.tir.expr import make_const
from tvm.tir.index_map import IndexMap
from tvm.tir.stmt import Block

from .error import ScheduleError
from .random_variable import BlockRV, LoopRV

_BLOCKS = ("block", "blocks", "scope_block", "consumer_blocks")
_LOOPS = ("loop", "loops", "ordered_loops")
_TEXTS = ("ann_key", "func_name", "name", "storage_scope", "thread_axis")


class BufferArgumentError(ScheduleError, ValueError, AssertionError):
    """A buffer that the block does not have."""


class PadValueError(ScheduleError, TypeError):
    """Padding of another type than the buffer's."""


class Arguments:
    """Checks of what users give to primitives."""

    @staticmethod
    def require_kind(asked: str, name: str, value: Any) -> None:
        """A TypeError for a loop where a block is wanted, a number where a text is, and so on."""
        wanted: tuple[type, ...] = ()
        if name in _BLOCKS:
            wanted = (BlockRV,)
        elif name in _LOOPS:
            wanted = (LoopRV,)
        elif name in ("block_or_loop", "target"):
            wanted = (BlockRV, LoopRV)
        elif name in _TEXTS:
            wanted = (str,)
        elif name == "factors":
            wanted = (int, PrimExpr, type(None))
        elif name == "ann_val":
            wanted = (int, float, type(None), Mapping, Sequence, Object)
        if wanted and not isinstance(value, wanted):
            names = " or ".join([cls.__name__ for cls in wanted])
            raise TypeError(
                f"In `Schedule.{asked}`, type of `{name}` does not match: expected {names}, "
                f"found {type(value).__name__}"
            )

    @staticmethod
    def find_buffer(
        asked: str, block: Block, buffer: Any, side: str | None = None
    ) -> tuple[str, int, Buffer]:
        """Side ("read" or "write"), number and buffer, for a number, name, pair or buffer."""
        if isinstance(buffer, int):
            assert side is not None, "numbers are given for one side only"
            buffer = (side, buffer)
        if isinstance(buffer, (tuple, list)):
            return Arguments._numbered(asked, block, str(buffer[0]), int(buffer[1]))
        found: list[tuple[str, int, Buffer]] = []
        for which, regions in (("write", block.writes), ("read", block.reads)):
            for i, region in enumerate(regions):
                same = region.buffer is buffer or region.buffer.name == buffer
                if same and side in (None, which):
                    found.append((which, i, region.buffer))
        if not found:
            name = buffer if isinstance(buffer, str) else getattr(buffer, "name", repr(buffer))
            known = [r.buffer.name for r in (*block.writes, *block.reads)]
            raise BufferArgumentError(
                f"Schedule.{asked}: block {block.name_hint!r} does not {side or 'access'} the "
                f"buffer {name!r}{did_you_mean(str(name), known)}; legal: one of {known}"
            )
        buffers = {id(b) for _, _, b in found}
        if len(buffers) > 1:
            raise BufferArgumentError(
                f"Schedule.{asked}: several buffers of block {block.name_hint!r} are called "
                f"{buffer!r}; legal: a pair such as ('read', 0), or the buffer itself"
            )
        return found[0]

    @staticmethod
    def _numbered(asked: str, block: Block, side: str, index: int) -> tuple[str, int, Buffer]:
        if side not in ("read", "write"):
            raise BufferArgumentError(
                f"Schedule.{asked}: Invalid buffer_index_type {side!r}; legal: 'read', 'write'"
            )
        regions = block.reads if side == "read" else block.writes
        if not 0 <= index < len(regions):
            raise BufferArgumentError(
                f"Schedule.{asked}: block {block.name_hint!r} has {len(regions)} {side} regions, "
                f"there is no number {index}"
            )
        return side, index, regions[index].buffer

    @staticmethod
    def index_map(
        index_map: IndexMap | Callable[..., Any], ndim: int, index_dtype: str
    ) -> tuple[IndexMap, list[int]]:
        """The map, and the axis separators that its function names."""
        if isinstance(index_map, IndexMap):
            return index_map, []
        made, separators = IndexMap.from_func_with_separators(
            index_map, ndim=ndim, index_dtype=index_dtype
        )
        return made, [int(s) for s in separators]

    @staticmethod
    def pad_value(value: Any, buffer: Buffer, ndim: int) -> IndexMap | None:
        """The value of the padding as a function of the new indices."""
        if value is None or isinstance(value, IndexMap):
            return value
        if callable(value):

            @functools.wraps(value)  # the map's parameters are named as those of the function
            def padding(*indices: PrimExpr) -> list[PrimExpr]:
                return [_as_element(value(*indices), buffer)]

            return IndexMap.from_func(padding, ndim=ndim, index_dtype=index_dtype(buffer))
        element = _as_element(value, buffer)
        return IndexMap.from_func(
            lambda *indices: [element], ndim=ndim, index_dtype=index_dtype(buffer)
        )


def _as_element(value: Any, buffer: Buffer) -> PrimExpr:
    if isinstance(value, (list, tuple)) and len(value) == 1:
        value = value[0]  # as index maps, and thus traces, write it
    if isinstance(value, PrimExpr):
        if value.dtype is buffer.dtype:
            return value
        raise PadValueError(
            f"Schedule.transform_layout: pad_value is {value.dtype}, buffer {buffer.name!r} "
            f"holds {buffer.dtype}"
        )
    if isinstance(value, float) is not buffer.dtype.is_floating:
        raise PadValueError(
            f"Schedule.transform_layout: pad_value is of type {type(value).__name__}, buffer "
            f"{buffer.name!r} holds {buffer.dtype}"
        )
    return make_const(value, buffer.dtype)


def index_dtype(buffer: Buffer) -> str:
    """The type in which a buffer is indexed: that of its shape."""
    return str(buffer.shape[0].dtype) if buffer.shape else "int32"
