"""Sequences of which only the run tells how long they are: the rows of one tensor.

A loop that puts a tensor of one shape at the end of a sequence in each turn, and a tensor that is
split along an axis of open extent, make such. They are a tuple of a tuple of the rows, which no
sequence of known length is: ONNX has no sequences of sequences.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Tuple, TupleGetItem
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo, TupleStructInfo
from tvm.tir.expr import IntImm

from .node import Node
from .scope import Ref


def open_list(rows: RelaxExpr) -> RelaxExpr:
    """The sequence of the rows of a tensor."""
    return Tuple([Tuple([rows])])


def is_open_list(value: RelaxExpr) -> bool:
    """Whether a sequence is the rows of a tensor."""
    info = value.struct_info_
    fields = info.fields if isinstance(info, TupleStructInfo) else ()
    return len(fields) == 1 and isinstance(fields[0], TupleStructInfo)


def rows_of(bb: BlockBuilder, sequence: RelaxExpr) -> RelaxExpr | None:
    """(items, ...): the items of a sequence one after the other; None if there are none."""
    if is_open_list(sequence):
        whole = bb.emit(TupleGetItem(bb.normalize_argument(sequence), 0))
        return bb.emit(TupleGetItem(whole, 0))
    info = sequence.struct_info
    count = len(info.fields) if isinstance(info, TupleStructInfo) else 0
    items = [bb.emit(TupleGetItem(sequence, k)) for k in range(count)]
    return bb.emit(op.stack(items, 0)) if items else None


def joined(bb: BlockBuilder, parts: list[RelaxExpr | None]) -> RelaxExpr:
    """The sequence of the rows of several tensors."""
    rows = [part for part in parts if part is not None]
    whole = rows[0] if len(rows) == 1 else bb.emit(op.concat(rows, 0))
    return bb.emit(open_list(whole))


def length(rows: RelaxExpr) -> Ref:
    """How many rows there are."""
    extent = extents_of(rows)[0]
    if isinstance(extent, IntImm):
        return Ref.to(np.asarray(extent.value, np.int64))
    return Ref.to(np.array(extent, object))


def extents_of(rows: RelaxExpr) -> list[Any]:
    """The extents of a tensor, which are known."""
    info = rows.struct_info
    assert isinstance(info, TensorStructInfo), "rows are those of a tensor"
    assert isinstance(info.shape, ShapeExpr), "of known extents"
    return list(info.shape.values)


def row_at(node: Node, rows: RelaxExpr, i: int) -> RelaxExpr:
    """The row at the position that input `i` gives, counted from the end if it is negative."""
    bb, known = node.bb, node.known(i)
    if known is None or known.dtype == object:
        place = bb.emit(op.astype(op.reshape(node[i], ()), "int64"))
        there = length(rows)
        count = there.scope.read(there.name, bb)
        before = bb.emit(op.less(place, op.zeros((), "int64")))
        return bb.emit(op.take(rows, bb.emit(op.where(before, op.add(place, count), place)), 0))
    at = int(known.reshape(-1)[0])
    end = at + 1 if at != -1 else np.iinfo(np.int64).max
    return bb.emit(op.squeeze(bb.emit(op.strided_slice(rows, [0], [at], [int(end)])), [0]))


def side_by_side(bb: BlockBuilder, rows: RelaxExpr, axis: int, *, new_axis: bool) -> RelaxExpr:
    """(items, ...) -> the items along `axis`, a new one or one of theirs."""
    extents = extents_of(rows)
    rank = len(extents) - (0 if new_axis else 1)
    axis = axis + rank if axis < 0 else axis
    order = [*range(1, axis + 1), 0, *range(axis + 1, len(extents))]
    moved = bb.emit(op.permute_dims(rows, order)) if axis else rows
    if new_axis:
        return moved
    one = extents[1 + axis]
    shape = [*extents[1 : 1 + axis], extents[0] * one, *extents[2 + axis :]]
    return bb.emit(op.reshape(moved, shape))
