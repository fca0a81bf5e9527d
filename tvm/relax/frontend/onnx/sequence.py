"""Sequences of tensors: tuples, whose length is known while importing, or rows of a tensor."""

from __future__ import annotations

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.ir.structural import structural_equal
from tvm.relax import op
from tvm.relax.expr import Constant, Tuple, TupleGetItem
from tvm.relax.struct_info import TupleStructInfo
from tvm.tir.expr import IntImm

from .given import (
    Given,
    as_object,
    concatenated,
    given,
    item_at,
    length_of,
    opened,
    placed,
)
from .lists import is_open_list, joined, length, open_list, row_at, rows_of, side_by_side
from .node import Node
from .registry import Result, convert


def _is_computed(node: Node, i: int) -> bool:
    """Whether only running tells a position."""
    known = node.known(i)
    return node.has(i) and (known is None or known.dtype == object)


def _at_computed(node: Node, i: int) -> tuple[RelaxExpr, Given] | None:
    """The sequence as an object, if it is one or has to be: its position `i` is computed."""
    held = given(node)
    if held is not None:
        return node[0], held
    return opened(node, node[0]) if _is_computed(node, i) and not is_open_list(node[0]) else None


def _items(node: Node, i: int = 0) -> list[RelaxExpr]:
    """The tensors of a sequence."""
    value = node[i]
    info = value.struct_info
    if not isinstance(info, TupleStructInfo):
        raise node.invalid(f"input number {i}", "a tensor", "a sequence")
    if is_open_list(value):
        raise node.invalid(
            f"input number {i}", "a sequence whose length the run tells", "one of known length"
        )
    return [TupleGetItem(value, k) for k in range(len(info.fields))]


def _position(node: Node, i: int, length: int) -> int:
    """A known position in a sequence, counted from the end if it is negative."""
    position = node.integers(i, "position")[0]
    if not -length <= position <= length:
        raise node.invalid("position", position, f"{-length} ... {length}")
    return position + length if position < 0 else position


@convert("SequenceConstruct")
def sequence_construct(node: Node) -> Result:
    return [Tuple([node[i] for i in range(len(node.inputs))])]


@convert("SequenceEmpty")
def sequence_empty(node: Node) -> Result:
    return [Tuple([])]


@convert("SequenceInsert")
def sequence_insert(node: Node) -> Result:
    if (found := _at_computed(node, 2)) is not None:
        value, held = found
        info = node.info(1)
        held = held.and_also(Given(str(info.dtype), info.ndim, is_sequence=True))
        item = node.bb.normalize_argument(node[1])
        return as_object(node, "sequence_insert", held, value, item, *placed(node, 2))
    if is_open_list(node[0]) and not node.has(2):
        row = node.bb.emit(op.expand_dims(node[1], [0]))
        return [joined(node.bb, [rows_of(node.bb, node[0]), row])]
    items = _items(node)
    position = _position(node, 2, len(items)) if node.has(2) else len(items)
    return [Tuple([*items[:position], node[1], *items[position:]])]


@convert("SequenceErase")
def sequence_erase(node: Node) -> Result:
    if (found := _at_computed(node, 1)) is not None:
        value, held = found
        return as_object(node, "sequence_erase", held, value, *placed(node, 1))
    items = _items(node)
    position = _position(node, 1, len(items)) if node.has(1) else len(items) - 1
    return [Tuple([*items[:position], *items[position + 1 :]])]


@convert("SequenceAt")
def sequence_at(node: Node) -> Result:
    if (found := _ragged(node)) is not None:
        return item_at(node, *found)
    known = node.known(1)
    if is_open_list(node[0]) or known is None or known.dtype == object:
        rows = rows_of(node.bb, node[0])
        if rows is None:
            raise node.invalid("position", "some", "none, of a sequence without items")
        return row_at(node, rows, 1)
    items = _items(node)
    return items[_position(node, 1, len(items))]


def _ragged(node: Node) -> tuple[RelaxExpr, Given] | None:
    """The sequence as an object, if it is one or its items differ, of which one is computed."""
    held = given(node)
    if held is not None:
        return node[0], held
    info = node[0].struct_info
    if not _is_computed(node, 1) or is_open_list(node[0]) or not isinstance(info, TupleStructInfo):
        return None
    fields = info.fields
    alike = all(structural_equal(field, fields[0]) for field in fields)
    return None if alike else opened(node, node[0])


@convert("SequenceLength")
def sequence_length(node: Node) -> Result:
    if given(node) is not None:
        return length_of(node, node[0])
    if is_open_list(node[0]):
        rows = rows_of(node.bb, node[0])
        assert rows is not None, "an open list has rows"
        return [length(rows)]
    return Constant(np.asarray(len(_items(node)), np.int64))


@convert("ConcatFromSequence")
def concat_from_sequence(node: Node) -> Result:
    held = given(node)
    if held is not None:
        return concatenated(node, node[0], held)
    axis = int(node.attr("axis", 0))
    if is_open_list(node[0]):
        rows = rows_of(node.bb, node[0])
        assert rows is not None, "an open list has rows"
        return side_by_side(node.bb, rows, axis, new_axis=bool(node.attr("new_axis", 0)))
    items = [node.bb.emit(item) for item in _items(node)]
    return op.stack(items, axis) if node.attr("new_axis", 0) else op.concat(items, axis)


@convert("SplitToSequence")
def split_to_sequence(node: Node) -> Result:
    """Into parts of one length, of given lengths, or single elements."""
    axis = node.axis(0)
    extent = node.shape(0)[axis]
    if not isinstance(extent, IntImm):
        return _split_to_rows(node, axis)
    size = extent.value
    given = node.integers(1, "split") if node.has(1) else [1]
    single = not node.has(1)
    known = node.known(1)
    if single or (known is not None and known.ndim == 0):
        step = given[0]
        ends = list(range(step, size, step))
    else:
        ends = [int(end) for end in np.cumsum(given)[:-1]]
    whole = node.bb.emit(op.split(node[0], ends, axis)) if ends else None
    count = len(ends) + 1
    parts: list[RelaxExpr] = [node[0]]
    if whole is not None:
        parts = [TupleGetItem(whole, i) for i in range(count)]
    if single and not node.attr("keepdims", 1):
        parts = [op.squeeze(node.bb.emit(part), [axis]) for part in parts]
    return [Tuple([node.bb.emit(part) for part in parts])]


def _split_to_rows(node: Node, axis: int) -> Result:
    """Single elements along an axis of open extent."""
    known = node.known(1)
    if node.has(1) and (known is None or known.ndim or int(known) != 1):
        raise node.invalid("axis", str(node.shape(0)[axis]), "an axis whose extent is a number")
    rest = [a for a in range(node.rank(0)) if a != axis]
    rows = node.bb.emit(op.permute_dims(node[0], [axis, *rest])) if axis else node[0]
    if node.has(1) or node.attr("keepdims", 1):
        rows = node.bb.emit(op.expand_dims(rows, [axis + 1]))
    return [open_list(rows)]
