"""Weights that are stored in few bits stay so: they are widened where they are read.

    w = permute_dims((astype(q, f32) - z) * s)     ->     y = call_tir(matmul_int4, (x, q', s', z'))
    y = matmul(x, w)

for constants q of integers, s and z. Folded, the weights would be floats of 32 bits, four to
sixteen times the memory, and it is memory that decides the speed of a product with few rows. The
numbers may be scaled, moved, and given another shape in between, as long as 32 of them along the
sum share a scale and a zero point (`topi.nn.few_bits`). Sums are of 32 bits, of weights that are
not rounded to a half float first. Of a table that `take` reads, rows are widened.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Constant, Function, Var, is_call_of
from tvm.relax.packed_product import packed_product
from tvm.relax.transform.dead_code_elimination import remove_unused_bindings
from tvm.relax.transform.fold_dequantize import info_of, sizes_of
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.rebuild import all_bindings, rewrite_calls, rewrite_functions
from tvm.topi.nn import few_bits
from tvm.topi.nn.few_bits import GROUP, Packed

Array = NDArray[Any]
MIN_WEIGHTS: Final = 1 << 16  # below that, kernels that are fused with their neighbours are faster
_FLOATS: Final = ("float32", "float16", "bfloat16")
_WHOLE: Final = ("int8", "uint8", "int32")
_DEPTH: Final = 12  # operators between a product and its numbers that are looked through


class Stored(NamedTuple):
    """Weights (numbers - zero) * scale; zero and scale are broadcast to the numbers' shape."""

    numbers: Array
    zero: Array
    scale: Array


@relax_module_pass("KeepFewBits")
def KeepFewBits(mod: IRModule, ctx: PassContext) -> IRModule:
    """Multiply by constant integers of few bits as they are stored."""

    def rewritten(bb: BlockBuilder, func: Function) -> Function:
        rules = _Rules({binding.var: binding.value for binding in all_bindings(func)})
        new = rewrite_calls(func, {"relax.matmul": rules.matmul, "relax.take": rules.take}, bb)
        return func if new is func else remove_unused_bindings(new)

    return rewrite_functions(mod, rewritten)


class _Rules:
    def __init__(self, known: dict[Var, RelaxExpr]) -> None:
        self._known = known

    def _value(self, expr: RelaxExpr) -> RelaxExpr:
        while isinstance(expr, Var) and expr in self._known:
            expr = self._known[expr]
        return expr

    def matmul(self, bb: BlockBuilder, call: Call) -> RelaxExpr:
        x, w = call.args
        info, out = info_of(x), info_of(call)
        if info is None or info.values is None or info.ndim < 1 or str(info.dtype) not in _FLOATS:
            return call
        if out is None or str(out.dtype) not in _FLOATS or not _is_large(w):
            return call
        stored = self._stored(w, _DEPTH)
        packed = None if stored is None else pack(Stored(*(part.T for part in stored)))
        return call if packed is None else packed_product(bb, x, *packed, str(out.dtype))

    def take(self, bb: BlockBuilder, call: Call) -> RelaxExpr:
        table, ids = call.args
        attrs: Any = call.attrs
        out = info_of(call)
        if out is None or not _is_large(table) or attrs.axis is None or int(attrs.axis) != 0:
            return call
        stored = None if str(out.dtype) not in _FLOATS else self._stored(table, _DEPTH)
        group = None if stored is None else _group_of(stored)
        if stored is None or group is None:
            return call

        def rows(array: Array) -> RelaxExpr:
            taken = op.take(Constant(np.ascontiguousarray(array)), ids, 0, attrs.mode)
            return bb.emit(op.astype(bb.emit(taken), "float32"))

        *outer, inputs = out.values or ()
        apart = [*outer, -(-stored.numbers.shape[1] // group), group]
        value = bb.emit(op.reshape(rows(stored.numbers), apart))
        zero, scale = (part[:, ::group] for part in (stored.zero, stored.scale))
        if zero.any():
            value = bb.emit(op.subtract(value, bb.emit(op.expand_dims(rows(zero), -1))))
        value = bb.emit(op.multiply(value, bb.emit(op.expand_dims(rows(scale), -1))))
        made = op.reshape(value, [*outer, inputs])
        return made if str(out.dtype) == "float32" else op.astype(bb.emit(made), out.dtype)

    def _stored(self, expr: RelaxExpr, depth: int) -> Stored | None:
        """The integers behind an operand."""
        value = self._value(expr)
        if isinstance(value, Constant):
            numbers = value.data.numpy() if str(value.data.dtype) in ("int8", "uint8") else None
            if numbers is None:
                return None
            return Stored(numbers, _alike(0.0, numbers), _alike(1.0, numbers))
        if not isinstance(value, Call) or depth == 0 or info_of(value) is None:
            return None
        if is_call_of(value, "relax.astype"):
            made = str(info_of(value).dtype)  # type: ignore[union-attr]
            return self._stored(value.args[0], depth - 1) if made in _FLOATS + _WHOLE[2:] else None
        if is_call_of(value, "relax.permute_dims"):
            axes = value.attrs.axes  # type: ignore[union-attr]
            order = None if axes is None else [int(axis) for axis in axes]
            return self._moved(value, depth, lambda array: array.transpose(order))
        if is_call_of(value, "relax.reshape"):
            shape = sizes_of(value)
            return None if None in shape else self._moved(
                value, depth, lambda array: array.reshape(shape)
            )
        return self._computed(value, depth)

    def _moved(self, value: Call, depth: int, move: Any) -> Stored | None:
        inner = self._stored(value.args[0], depth - 1)
        return None if inner is None else Stored(*map(move, inner))

    def _computed(self, value: Call, depth: int) -> Stored | None:
        """Numbers less a zero point, or times a scale."""
        if is_call_of(value, "relax.subtract"):
            inner, less = self._stored(value.args[0], depth - 1), self._constant(value.args[1])
            if inner is None or less is None or not _keeps(inner, less):
                return None
            if not (inner.scale == 1).all():
                return None  # a step of its own
            return inner._replace(zero=inner.zero + less)
        if is_call_of(value, "relax.multiply"):
            for one, other in (value.args, value.args[::-1]):
                inner, factor = self._stored(one, depth - 1), self._constant(other)
                if inner is not None and factor is not None and _keeps(inner, factor):
                    return inner._replace(scale=inner.scale * factor)
        return None

    def _constant(self, expr: RelaxExpr, depth: int = _DEPTH) -> Array | None:
        """A constant's values as float32, perhaps of another type or shape since."""
        value = self._value(expr)
        if isinstance(value, Constant):
            return value.data.numpy().astype("float32")
        if not isinstance(value, Call) or depth == 0 or not value.args:
            return None
        inner = self._constant(value.args[0], depth - 1)
        shape = sizes_of(value)
        if inner is None or None in shape:
            return None
        if is_call_of(value, "relax.astype"):
            widened = str(info_of(value).dtype) in ("float32", "int32")  # type: ignore[union-attr]
            return inner if widened else None
        return inner.reshape(shape) if is_call_of(value, "relax.reshape") else None


def _is_large(weights: RelaxExpr) -> bool:
    """Whether an operand is a matrix of a known size that is worth it."""
    extents = [size for size in sizes_of(weights) if size is not None]
    return len(extents) == 2 == len(sizes_of(weights)) and math.prod(extents) >= MIN_WEIGHTS


def _alike(value: float, numbers: Array) -> Array:
    return np.broadcast_to(np.float32(value), numbers.shape)


def _keeps(inner: Stored, other: Array) -> bool:
    """Whether what is broadcast to the numbers' shape leaves it as it is."""
    shape = inner.numbers.shape
    return other.ndim <= len(shape) and all(
        b in (a, 1) for a, b in zip(shape[::-1], other.shape[::-1])
    )


def pack(weights: Stored) -> tuple[Packed, list[Constant]] | None:
    """Weights (outputs, inputs) as kernels read them; None where groups of them are not alike."""
    numbers, group = weights.numbers, _group_of(weights)
    if group is None:
        return None
    outputs, inputs = numbers.shape
    zero, scale = (part[:, ::group] for part in (weights.zero, weights.scale))
    lowest, highest = int(numbers.min()), int(numbers.max())
    for bits in (2, 4, 8):
        half = 1 << bits >> 1
        centred = not zero.any() and -half <= lowest and highest < half
        if centred or highest - lowest < 1 << bits:
            break
    first = -half if centred else lowest
    form = Packed(outputs, inputs, f"int{bits}", group, "float32", zeros=not centred)
    words = few_bits.in_words(few_bits.in_lanes(numbers.astype("int32") - first), bits)
    kept = [words, few_bits.in_lanes(scale)]
    if form.zeros:
        kept.append(few_bits.in_lanes(zero - np.float32(first)))
    return form, [Constant(array) for array in kept]


def _group_of(weights: Stored) -> int | None:
    """The largest number of inputs, a multiple of 32, with one scale and one zero point."""
    outputs, inputs = weights.numbers.shape
    parts = (weights.zero, weights.scale)
    if inputs % GROUP:
        return None
    if not all(_is_alike(part.reshape(outputs, -1, GROUP)) for part in parts):
        return None
    heads = [part[:, ::GROUP] for part in parts]
    count = inputs // GROUP
    for together in range(count, 0, -1):
        if count % together == 0 and all(
            _is_alike(head.reshape(outputs, -1, together)) for head in heads
        ):
            return together * GROUP
    return None


def _is_alike(groups: Array) -> bool:
    """Whether the numbers of each group, along the last axis, are equal."""
    return bool((groups == groups[..., :1]).all())

