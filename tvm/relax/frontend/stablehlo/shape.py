"""Operators that move elements, and those that make tensors of sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tvm.error import message
from tvm.relax import op
from tvm.relax.expr import Constant, Var, is_call_of
from tvm.relax.numpy_dtype import numpy_dtype
from tvm.support.dtype import DataType
from tvm.topi.nn.pad import pad as pad_tensor

from .program import Operation, Value
from .registry import convert

if TYPE_CHECKING:
    from .stablehlo_translator import StableHLOImporter


def extents(value: Value) -> list[int]:
    """The extents of a value whose shape is known."""
    known = [extent for extent in value.shape if extent is not None]
    if len(known) != len(value.shape):
        raise ValueError(message("extents", found=f"shape {value.shape}", legal="known extents"))
    return known


@convert("stablehlo.broadcast_in_dim")
def broadcast_in_dim(imp: StableHLOImporter, node: Operation, x: Any) -> Any:
    """Axes are mapped to axes of the result; those of extent 1 are repeated."""
    shape, before = extents(node.results[0]), extents(node.operands[0])
    axes = node.attrs["broadcast_dimensions"]
    if shape == before and axes == list(range(len(shape))):
        return x
    between = [1] * len(shape)
    for axis, extent in zip(axes, before):
        between[axis] = extent
    if before and between[len(shape) - len(before) :] != before:
        x = op.reshape(x, between)
        if between == shape:
            return x
        x = imp.emit(x)
    return op.broadcast_to(x, shape)


@convert("stablehlo.reshape")
def reshape(imp: StableHLOImporter, node: Operation, x: Any) -> Any:
    return op.reshape(x, extents(node.results[0]))


@convert("stablehlo.transpose")
def transpose(imp: StableHLOImporter, node: Operation, x: Any) -> Any:
    return op.permute_dims(x, node.attrs["permutation"])


@convert("stablehlo.concatenate")
def concatenate(imp: StableHLOImporter, node: Operation, *parts: Any) -> Any:
    return op.concat(list(parts), node.attrs["dimension"])


@convert("stablehlo.slice")
def strided_slice(imp: StableHLOImporter, node: Operation, x: Any) -> Any:
    attrs = node.attrs
    axes = list(range(len(attrs["start_indices"])))
    if not axes:
        return x
    return op.strided_slice(
        x, axes, attrs["start_indices"], attrs["limit_indices"], attrs["strides"]
    )


@convert("stablehlo.reverse")
def reverse(imp: StableHLOImporter, node: Operation, x: Any) -> Any:
    for axis in node.attrs["dimensions"]:
        x = op.flip(x, axis)
    return x


@convert("stablehlo.iota")
def iota(imp: StableHLOImporter, node: Operation) -> Any:
    """The index along one axis."""
    shape, axis = extents(node.results[0]), node.attrs["iota_dimension"]
    line = np.arange(shape[axis]).astype(numpy_dtype(DataType(node.results[0].dtype)))
    if len(shape) == 1:
        return Constant(line)
    row = line.reshape([extent if i == axis else 1 for i, extent in enumerate(shape)])
    return op.broadcast_to(Constant(row), shape)


@convert("stablehlo.pad")
def pad(imp: StableHLOImporter, node: Operation, x: Any, value: Any) -> Any:
    """Elements are set apart, then the edges get a margin, or lose one that is negative."""
    attrs = node.attrs
    low, high = attrs["edge_padding_low"], attrs["edge_padding_high"]
    between = attrs["interior_padding"]
    name, bb = "pad", imp.block_builder
    number = _float_of(imp, value)
    if number is not None and not any(between) and all(n >= 0 for n in (*low, *high)):
        return op.nn.pad(x, [n for pair in zip(low, high) for n in pair], "constant", number)
    if any(between):
        strides = [n + 1 for n in between]
        x = imp.emit(bb.call_te(_dilated, x, value, strides, primfunc_name_hint="dilate"))
    if any(n > 0 for n in (*low, *high)):
        before, after = ([max(n, 0) for n in side] for side in (low, high))
        x = imp.emit(bb.call_te(_padded, x, value, before, after, primfunc_name_hint=name))
    if all(n >= 0 for n in (*low, *high)):
        return x
    begin = [max(-n, 0) for n in low]
    end = [b + extent for b, extent in zip(begin, extents(node.results[0]))]
    return op.strided_slice(x, list(range(len(begin))), begin, end)


def _float_of(imp: StableHLOImporter, value: Any) -> float | None:
    """The number that a value of a float type is; None if that is not known yet."""
    if not str(value.struct_info.dtype).startswith(("float", "bfloat")):
        return None
    made = imp.block_builder.lookup_binding(value) if isinstance(value, Var) else value
    if is_call_of(made, "relax.astype"):
        made = made.args[0]  # of a whole number
    return float(made.data.numpy()) if isinstance(made, Constant) else None


def _dilated(x: Any, value: Any, strides: Any) -> Any:
    from tvm import te, tir

    steps = [int(n) for n in strides]
    shape = [(extent - 1) * step + 1 for extent, step in zip(x.shape, steps)]

    def element(*i: Any) -> Any:
        here = [tir.indexmod(at, step).equal(0) for at, step in zip(i, steps) if step > 1]
        quotients = [tir.indexdiv(at, step) for at, step in zip(i, steps)]
        return tir.if_then_else(tir.all(*here), x(*quotients), value())

    return te.compute(shape, element, name="dilated")


def _padded(x: Any, value: Any, before: Any, after: Any) -> Any:
    low, high = ([int(n) for n in side] for side in (before, after))
    return pad_tensor(x, low, high, pad_value=value())
