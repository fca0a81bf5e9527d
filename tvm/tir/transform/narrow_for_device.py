"""Sizes and indices are int32 where a device has no wider integers, or is slow with them.

    n: T.int64                                       n: T.int32
    for i in T.thread_binding(n, "blockIdx.x"):  ->  for i in T.thread_binding(n, "blockIdx.x"):
        B[i] = A[i] + T.float32(1)                       B[i] = A[i] + T.float32(1)

No array of such a device has 2^31 elements, and the entry of a function refuses sizes that do not
fit. Functions that compute with wide integers as data stay as they are; their backend says so.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.support.dtype import DataType
from tvm.target.target import Target
from tvm.tir.expr import BufferLoad, Cast, IntImm
from tvm.tir.function import PrimFunc
from tvm.tir.functor import walk
from tvm.tir.stmt import Allocate, AllocateConst, Block, BufferStore

from .force_narrow_index_to_int32 import narrowed
from .pass_form import tir_pass


@tir_pass("tir.NarrowForDevice")
def NarrowForDevice(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """The function without int64, if its target wants that and no data is of that type."""
    target = func.attrs.get("target")
    if not isinstance(target, Target) or target.kind.traits.has_int64:
        return func
    return func if _has_wide_data(func) else narrowed(func)


def _has_wide_data(func: PrimFunc) -> bool:
    if any(_wide(buffer.dtype) for buffer in func.buffer_map.values()):
        return True
    index_casts: set[int] = set()  # casts within indices: their operands number elements
    for node in walk(func.body):
        casts = (part for index in _indices(node) for part in walk(index))
        index_casts.update(id(part) for part in casts if isinstance(part, Cast))
    return any(_is_wide_data(node) for node in walk(func.body) if id(node) not in index_casts)


def _indices(node: object) -> list[PrimExpr]:
    if isinstance(node, (BufferLoad, BufferStore)):
        return list(node.indices)
    if isinstance(node, Block):
        ranges = [part for region in (*node.reads, *node.writes) for part in region.region]
        return [bound for part in ranges for bound in (part.min, part.extent)]
    return []


def _is_wide_data(node: object) -> bool:
    if isinstance(node, (BufferLoad, BufferStore)):
        return _wide(node.buffer.dtype)
    if isinstance(node, Block):
        return any(_wide(buffer.dtype) for buffer in node.alloc_buffers)
    if isinstance(node, (Allocate, AllocateConst)):
        return _wide(node.dtype)
    if isinstance(node, IntImm):
        return _wide(node.dtype) and not -(2**31) <= node.value < 2**31
    if isinstance(node, Cast) and _wide(node.dtype):
        return any(isinstance(part, BufferLoad) for part in walk(node.value))
    return False


def _wide(dtype: DataType) -> bool:
    return dtype.is_integer and dtype.bits > 32
