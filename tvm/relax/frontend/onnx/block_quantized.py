"""Weights of few bits with a scale for each block of them: products and rows of tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvm import te, tir
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.relax.packed_product import packed_product
from tvm.topi.nn import few_bits
from tvm.topi.nn.few_bits import Packed

from .node import Node
from .registry import Result, convert

_DOMAIN = "com.microsoft."
_BYTES = 4  # the accuracy level at which inputs may be rounded to 8 bits, in blocks
# The 16 numbers behind four bits: small floats of two bits of exponent, and quantiles of a normal
# distribution (Dettmers et al. 2023), both up to 1.
_FP4 = (0.0, 0.0052083333, 0.6666667, 1.0, 0.33333333, 0.5, 0.16666667, 0.25)
_NF4 = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
    -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
    0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
    0.7229568362236023, 1.0,
)  # fmt: skip


def _bits(value: PrimExpr, place: PrimExpr, bits: int) -> PrimExpr:
    """The number at a place among those in a byte, the first in the lowest bits."""
    if bits == 8:
        return value.astype("int32")
    moved = tir.shift_right(value.astype("int32"), (place * bits).astype("int32"))
    return tir.bitwise_and(moved, tir.const((1 << bits) - 1, "int32"))


def packed_numbers(x: te.Tensor, bits: int) -> Callable[..., PrimExpr]:
    """Reads element number `place` of the last axis of packed bytes."""
    count = 8 // bits

    def at(*index: Any) -> PrimExpr:
        *outer, place = index
        return _bits(x(*outer, tir.indexdiv(place, count)), tir.indexmod(place, count), bits)

    return at


@convert(_DOMAIN + "MatMulNBits")
def matmul_nbits(node: Node) -> Result:
    """x @ w.T + bias; w (n, k) are (number - zero point) * scale, blocks along k."""
    rows, columns = int(node.required("N")), int(node.required("K"))
    size, bits = int(node.required("block_size")), int(node.attr("bits", 4))
    if bits not in (2, 4, 8) or node.attr("weight_prepacked", 0):
        raise node.invalid("bits, weight_prepacked", (bits, node.attr("weight_prepacked", 0)),
                           "2, 4 or 8 bits as the model has them")  # fmt: skip
    if node.has(4):
        raise node.invalid("g_idx", "given", "blocks in their order")
    blocks = -(-columns // size)
    dtype = node.dtype(0)
    packed = _PackedNBits.of(node, rows, columns, size, bits)
    if packed is not None:
        product = packed.product(node)
        return op.add(product, node[5]) if node.has(5) else product
    whole = size * bits // 8
    bytes_ = node.bb.emit(op.reshape(node[1], [rows, blocks * whole]))
    scales = node.bb.emit(op.reshape(node[2], [rows, blocks]))
    zeros: list[RelaxExpr] = []
    if node.has(3):
        width = blocks if node.dtype(3) == dtype else -(-blocks * bits // 8)
        zeros = [node.bb.emit(op.reshape(node[3], [rows, width]))]

    def compute(packed: te.Tensor, scale: te.Tensor, *zero: te.Tensor) -> Any:
        number = packed_numbers(packed, bits)

        def element(k: Any, n: Any) -> Any:
            block = tir.indexdiv(k, size)
            value = number(n, k).astype(dtype)
            if not zero:
                middle = tir.const(1 << (bits - 1), dtype)
            elif zero[0].dtype == dtype:
                middle = zero[0](n, block)
            else:
                middle = packed_numbers(zero[0], bits)(n, block).astype(dtype)
            return (value - middle) * scale(n, block)

        return te.compute((columns, rows), element, name="weight")

    weight = node.bb.emit_te(compute, bytes_, scales, *zeros, primfunc_name_hint="unpacked")
    product = op.matmul(node[0], weight)
    return op.add(product, node[5]) if node.has(5) else product


class _PackedNBits:
    """Constant weights of 2, 4 or 8 bits, laid out for kernels that widen them in registers."""

    def __init__(self, form: Packed, arrays: list[Constant]) -> None:
        self._form, self._arrays = form, arrays

    @classmethod
    def of(cls, node: Node, rows: int, columns: int, size: int, bits: int) -> _PackedNBits | None:
        """The weights of a node; None where they are no constants, or of another size."""
        given = [node[i] for i in (1, 2, 3) if i < 3 or node.has(i)]
        fits = size % few_bits.GROUP == 0 and columns % size == 0
        arrays = [value.data.numpy() for value in given if isinstance(value, Constant)]
        if not fits or len(arrays) != len(given):
            return None
        data, scale, *zero = arrays
        blocks = columns // size
        numbers = _numbers(data, bits).reshape(rows, columns)
        scales = scale.reshape(rows, blocks).astype("float32")
        zeros = np.full((rows, blocks), 1 << (bits - 1), "float32")
        if zero and zero[0].dtype == np.uint8:
            width = -(-blocks * bits // 8)
            zeros = _numbers(zero[0].reshape(rows, width), bits)[:, :blocks].astype("float32")
        elif zero:
            zeros = zero[0].reshape(rows, blocks).astype("float32")
        digits = 1 if node.attr("accuracy_level", 0) == _BYTES else 3
        special = bool((zeros != 1 << (bits - 1)).any())
        form = Packed(rows, columns, f"int{bits}", size, "float32", special, digits)
        words = few_bits.in_words(few_bits.in_lanes(numbers), bits)
        kept = [words, few_bits.in_lanes(scales)]
        if form.zeros:
            kept.append(few_bits.in_lanes(zeros))
        return cls(form, [Constant(array) for array in kept])

    def product(self, node: Node) -> RelaxExpr:
        """x @ w.T, with sums in float32."""
        node.shape(0)  # which must be known
        return packed_product(node.bb, node[0], self._form, self._arrays, node.dtype(0))


def _numbers(data: np.ndarray[Any, Any], bits: int) -> np.ndarray[Any, Any]:
    """The numbers of bytes, the first in the lowest bits; along the last axis."""
    if bits == 8:
        return data
    parts = [data >> at & ((1 << bits) - 1) for at in range(0, 8, bits)]
    return np.stack(parts, axis=-1).reshape(*data.shape[:-1], -1)


@convert(_DOMAIN + "MatMulBnb4")
def matmul_bnb4(node: Node) -> Result:
    """x @ w.T; a number of four bits stands in a table, and is scaled by its block's largest."""
    rows, columns = int(node.required("N")), int(node.required("K"))
    size, dtype = int(node.required("block_size")), node.dtype(0)
    small = [*_FP4, *(-x for x in _FP4)]
    table = np.asarray(_NF4 if int(node.required("quant_type")) else small, dtype)
    flipped = bool(node.attr("transB", 1))

    def compute(packed: te.Tensor, largest: te.Tensor, numbers: te.Tensor) -> Any:
        def element(k: Any, n: Any) -> Any:
            place = n * columns + k
            first = tir.EQ(tir.indexmod(place, 2), 0)  # in the upper bits
            byte = packed(tir.indexdiv(place, 2)).astype("int32")
            number = tir.Select(first, tir.shift_right(byte, tir.const(4, "int32")),
                                tir.bitwise_and(byte, tir.const(15, "int32")))  # fmt: skip
            return numbers(number) * largest(tir.indexdiv(place, size))

        return te.compute((columns, rows), element, name="weight")

    flat = node.bb.emit(op.reshape(node[1], [-1]))
    values = [flat, node[2], Constant(table)]
    weight = node.bb.emit_te(compute, *values, primfunc_name_hint="looked_up")
    if not flipped:
        raise node.invalid("transB", 0, "1")
    return op.matmul(node[0], weight)


@convert(_DOMAIN + "GatherBlockQuantized")
def gather_block_quantized(node: Node) -> Result:
    """Slices of a table whose numbers have a scale for each block along an axis."""
    rank, bits = node.rank(0), int(node.attr("bits", 4))
    size = int(node.attr("block_size", 128))
    axis = int(node.attr("quantize_axis", 1)) % rank
    packed = node.dtype(0) == "uint8"
    if packed and axis != rank - 1:
        raise node.invalid("quantize_axis", axis, "the last one for packed numbers")
    per_byte = 8 // bits if packed else 1
    dtype = node.dtype(2)
    zeros = [node[3]] if node.has(3) else []
    shape = [*node.shape(0)[:-1], node.shape(0)[-1] * per_byte]

    def compute(data: te.Tensor, scale: te.Tensor, *zero: te.Tensor) -> Any:
        number = packed_numbers(data, bits) if packed else data

        def element(*at: Any) -> Any:
            block = [tir.indexdiv(i, size) if a == axis else i for a, i in enumerate(at)]
            middle = tir.const((1 << (bits - 1)) if packed else 0, dtype)
            if zero:
                point = packed_numbers(zero[0], bits) if packed else zero[0]
                middle = point(*block).astype(dtype)
            return (number(*at).astype(dtype) - middle) * scale(*block)

        return te.compute(shape, element, name="table")

    table = node.bb.emit_te(compute, node[0], node[2], *zeros, primfunc_name_hint="unpacked")
    return op.take(table, node[1], int(node.attr("gather_axis", 0)) % rank)
