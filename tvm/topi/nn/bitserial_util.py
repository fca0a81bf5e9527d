"""Numbers of a few bits as planes of bits, many elements in a word."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.error import ShapeError
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.support.dtype import DataType
from tvm.topi import tag
from tvm.topi.common import compute, known
from tvm.topi.utils import get_const_int


@explained
def bitpack(
    data: te.Tensor, bits: int, pack_axis: int, bit_axis: int, pack_type: str,
    name: str = "QuantizeInput",
) -> te.Tensor:  # fmt: skip
    """Bit b of the elements along `pack_axis`, a word for each run of them, first element highest.

    `bit_axis` is the index of the new axis over the bits.
    """
    word = DataType(pack_type)
    width = word.bits
    extent = data.shape[pack_axis]
    if not word.is_uint or (known(extent) and get_const_int(extent) % width):
        raise ShapeError(
            f"bitpack: {extent} elements in words of {pack_type}; legal: a multiple of the width "
            "of an unsigned type"
        )
    shape: list[Any] = list(data.shape)
    shape[pack_axis] = tir.indexdiv(extent, width)
    shape.insert(bit_axis, bits)
    one = tir.const(1, data.dtype)

    def element(*i: Any) -> PrimExpr:
        bit = i[bit_axis].astype(data.dtype)
        own = [index for k, index in enumerate(i) if k != bit_axis]
        packed: PrimExpr = tir.const(0, word)
        for j in range(width):
            at = list(own)
            at[pack_axis] = own[pack_axis] * width + j
            plane = (data(*at) >> bit) & one
            packed = (packed << tir.const(1, word)) | plane.astype(word)
        return packed

    return compute(shape, element, name=name, tag=tag.INJECTIVE)


@explained
def binary_op_multiplier(pack_dtype: str) -> int:
    """How many elements a word holds."""
    return DataType(pack_dtype).bits


def product(data: PrimExpr, weight: PrimExpr, unipolar: bool, dtype: Any) -> PrimExpr:
    """The sum of the products of two words of bits; unipolar weights mean +1 and -1."""
    hits = tir.popcount(weight & data).astype(dtype)
    if not unipolar:
        return hits
    return hits - tir.popcount(~weight & data).astype(dtype)
