"""Whether what a graph passes to a kernel is what the kernel's buffers say.

    call_tir(add, (x: (n,), y: (m,)), Tensor((n,)))  with  add(A: (k,), B: (k,), C: (k,))

says k = n, and asks for m = n. Compiled graphs call kernels without looking at tensors again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tvm.arith.analyzer import Analyzer
from tvm.error import ArgumentCountError, DTypeError, ShapeError, message
from tvm.ir.expr import PrimExpr, RelaxExpr, StructInfo
from tvm.relax.expr import Call, Tuple
from tvm.relax.op.declare import show_extents
from tvm.relax.shape_math import product, same_extent
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo, TupleStructInfo
from tvm.relax.transform.inplace_results import operand_indices
from tvm.tir.buffer import Buffer
from tvm.tir.expr import IntImm, Var
from tvm.tir.function import PrimFunc
from tvm.tir.functor import substitute, walk
from tvm.tir.stmt import Block

Pair = tuple[PrimExpr, PrimExpr]
_RESHAPE: Final = re.compile(r"T_reshape(_\d+)?")  # T_reshape_red sums what a reshape gave


def open_kernel_extents(
    call: Call, func: PrimFunc, name: str, analyzer: Analyzer
) -> list[Pair]:
    """The pairs of extents (passed, asked) that may differ; an error where something has to."""
    infos = list(_passed(call))
    scalars = call.args[2].values if len(call.args) > 2 and isinstance(
        call.args[2], ShapeExpr) else ()  # fmt: skip
    params = func.params
    if len(infos) + len(scalars) != len(params):
        raise ArgumentCountError(
            message(f"call_tir of {name!r}", legal=f"{len(params)} in all",
                    found=f"{len(infos)} tensors and {len(scalars)} numbers")
        )  # fmt: skip
    buffers = [func.buffer_map.get(param) for param in params[: len(infos)]]
    both = [
        (i, buffer, info, _values(info)) for i, (buffer, info) in enumerate(zip(buffers, infos))
        if buffer is not None and isinstance(info, TensorStructInfo)
    ]  # fmt: skip
    known: dict[Var, PrimExpr] = dict(zip(params[len(infos) :], scalars))
    for i, buffer, info, values in both:
        _check_form(buffer, info, f"call_tir of {name!r}: tensor {i} ({buffer.name})")
        for extent, value in zip(buffer.shape, values):
            if isinstance(extent, Var):
                known.setdefault(extent, value)
    found: list[Pair] = []
    for i, buffer, _, values in both:
        for axis, (extent, value) in enumerate(zip(buffer.shape, values)):
            if any(isinstance(part, Var) and part not in known for part in walk(extent)):
                continue  # a symbol that only a tensor of unknown extents defines
            wanted = substitute(extent, known).astype(value.dtype)
            same = same_extent(value, wanted, analyzer)
            if same is False:
                raise ShapeError(
                    message(f"call_tir of {name!r}: axis {axis} of tensor {i} ({buffer.name})",
                            found=f"{value}, in {show_extents(values)}",
                            legal=f"{wanted}, as in {show_extents(buffer.shape)}")
                )  # fmt: skip
            if same is None:
                found.append((value, wanted))
    return found + [
        pair for pair in _reshaped(func, known)
        if _may_differ(pair, analyzer, f"call_tir of {name!r}: the elements of a reshape")
    ]  # fmt: skip


def _reshaped(func: PrimFunc, known: Mapping[Var, PrimExpr]) -> Iterator[Pair]:
    """The numbers of elements before and after each block of the kernel that is a reshape."""
    if all(isinstance(n, IntImm) for buffer in func.buffer_map.values() for n in buffer.shape):
        return
    for block in walk(func.body):
        if not isinstance(block, Block) or not _RESHAPE.fullmatch(block.name_hint):
            continue
        ends = [region.buffer.shape for region in (*block.reads, *block.writes)]
        if len(block.reads) == len(block.writes) == 1 and not any(
            isinstance(part, Var) and part not in known
            for shape in ends for extent in shape for part in walk(extent)
        ):  # fmt: skip
            before, after = (substitute(product(shape), known) for shape in ends)
            yield before, after.astype(before.dtype)


def _may_differ(pair: Pair, analyzer: Analyzer, where: str) -> bool:
    same = same_extent(*pair, analyzer)
    if same is False:
        raise ShapeError(message(where, found=f"{pair[1]}", legal=f"{pair[0]}"))
    return same is None


def _passed(call: Call) -> Iterator[StructInfo | None]:
    """What a kernel gets: the operands, and the results that have no operand's memory."""
    operands = call.args[1]
    yield from _infos_of(operands)
    results = call.sinfo_args[0] if len(call.sinfo_args) == 1 else TupleStructInfo(call.sinfo_args)
    fields = results.fields if isinstance(results, TupleStructInfo) else (results,)
    for field, operand in zip(fields, operand_indices(call, len(fields))):
        if operand < 0:
            yield field


def _infos_of(operands: RelaxExpr) -> Sequence[StructInfo | None]:
    if isinstance(operands, Tuple):
        return [field.struct_info_ for field in operands.fields]
    info = operands.struct_info_
    return info.fields if isinstance(info, TupleStructInfo) else [info]


def _values(info: TensorStructInfo | StructInfo | None) -> Sequence[PrimExpr]:
    shape = info.shape if isinstance(info, TensorStructInfo) else None
    return shape.values if isinstance(shape, ShapeExpr) else ()


def _check_form(buffer: Buffer, info: TensorStructInfo, where: str) -> None:
    rank = len(buffer.shape)
    if info.ndim >= 0 and info.ndim != rank:
        raise ShapeError(message(where, found=f"{info.ndim} dimensions", legal=f"{rank}"))
    given, wanted = info.dtype, buffer.dtype
    # truth values are bytes, which kernels may say of them
    if not (given.is_void or given.is_bool or wanted.is_bool) and given != wanted:
        raise DTypeError(message(where, found=f"{given}", legal=f"{wanted}"))
