"""Sequences and optional values that the caller gives: objects, which packed functions open.

How many items there are, of which shapes, and whether there is a value at all, running tells. What
the model says of an item (type and rank) is kept beside the variable of the object.
"""

from __future__ import annotations

from dataclasses import dataclass

from tvm import tir
from tvm.error import OpAttributeInvalid, message
from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import PrimValue, StringImm, TupleGetItem
from tvm.relax.struct_info import ObjectStructInfo, TensorStructInfo, TupleStructInfo

from .node import Node


@dataclass(frozen=True)
class Given:
    """What an object holds: tensors of a type and rank (-1: unknown), one after the other or one.

    `optional`: it may hold nothing. A sequence in which nothing is yet has no type.
    """

    dtype: str
    ndim: int
    is_sequence: bool
    optional: bool = False

    @property
    def item(self) -> TensorStructInfo:
        return TensorStructInfo(None, self.dtype, None, self.ndim)

    def and_also(self, other: Given) -> Given:
        """What holds for both."""
        if not self.dtype or not other.dtype:
            return other if not self.dtype else self
        ndim = self.ndim if self.ndim == other.ndim else -1
        return Given(self.dtype, ndim, self.is_sequence, self.optional or other.optional)


def checked(bb: BlockBuilder, name: str, value: RelaxExpr, held: Given) -> RelaxExpr:
    """The caller's value, looked at before anything reads it."""
    numbers = [held.ndim, int(held.is_sequence), int(held.optional)]
    args = [StringImm(name), StringImm(held.dtype), *map(PrimValue, numbers)]
    call = op.call_pure_packed("vm.builtin.given", value, *args, sinfo_args=ObjectStructInfo())
    return bb.emit(call)


def given(node: Node, i: int = 0) -> Given | None:
    """What an input that is an object holds, None for one that is none."""
    return node.reader.given.get(node[i])


def called(node: Node, name: str, *args: RelaxExpr, info: StructInfo) -> RelaxExpr:
    """What a packed function makes of objects."""
    call = op.call_pure_packed(f"vm.builtin.{name}", *args, sinfo_args=info)
    return with_sizes(node, node.bb.emit(call))


def with_sizes(node: Node, value: RelaxExpr) -> RelaxExpr:
    """A tensor of known rank with symbols for its extents."""
    info = value.struct_info
    if not isinstance(info, TensorStructInfo) or info.shape is not None:
        return value
    if info.ndim < 0:
        asked = "how many dimensions the items of a sequence have must be known"
        asked = f"ONNX {node.op_type} {node.name!r}: {asked}"
        legal = "from_onnx(model, shape_dict={name: [...]}) with the shape of an item"
        raise OpAttributeInvalid(message(asked, legal=legal))
    symbols = [tir.Var("size", "int64") for _ in range(info.ndim)]
    return node.bb.match_cast(value, TensorStructInfo(symbols, info.dtype))


def as_object(node: Node, name: str, held: Given, *args: RelaxExpr) -> RelaxExpr:
    """A sequence that a packed function makes."""
    made = called(node, name, *args, info=ObjectStructInfo())
    node.reader.given[made] = held
    return made


def opened(node: Node, value: RelaxExpr) -> tuple[RelaxExpr, Given] | None:
    """A sequence as an object; None if its items are of several types."""
    held = node.reader.given.get(value)
    if held is not None:
        return value, held
    info = value.struct_info
    fields = info.fields if isinstance(info, TupleStructInfo) else ()
    found = Given("", -1, is_sequence=True)
    for field in fields:
        if not isinstance(field, TensorStructInfo) or found.dtype not in ("", str(field.dtype)):
            return None
        found = found.and_also(Given(str(field.dtype), field.ndim, is_sequence=True))
    items = [node.bb.emit(TupleGetItem(value, i)) for i in range(len(fields))]
    return as_object(node, "make_tuple", found, *items), found


def placed(node: Node, i: int) -> list[RelaxExpr]:
    """The position that an input gives, if it does."""
    return [node.bb.normalize_argument(node[i])] if node.has(i) else []


def item_at(node: Node, value: RelaxExpr, held: Given) -> RelaxExpr:
    """The item at the position in input 1."""
    return called(node, "sequence_at", value, *placed(node, 1), info=held.item)


def concatenated(node: Node, value: RelaxExpr, held: Given) -> RelaxExpr:
    """All items side by side."""
    new_axis = bool(node.attr("new_axis", 0))
    ndim = held.ndim + new_axis if held.ndim >= 0 else -1
    info = TensorStructInfo(None, held.dtype, None, ndim)
    how = PrimValue(int(node.attr("axis", 0))), PrimValue(int(new_axis))
    return called(node, "sequence_concat", value, *how, info=info)


def length_of(node: Node, value: RelaxExpr) -> RelaxExpr:
    """How many items there are."""
    return called(node, "sequence_length", value, info=TensorStructInfo([], "int64"))
