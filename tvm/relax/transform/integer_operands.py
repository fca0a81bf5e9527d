"""Integers of 8 bits less a zero point: what stands for them in the forms that CPUs multiply."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tvm import te
from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Constant
from tvm.relax.transform.fold_dequantize import info_of
from tvm.tir.op.arith import is_one


class Centred(NamedTuple):
    """A tensor of numbers `raw` - `zero`: bytes, and a zero point of 32 bits (None: 0)."""

    raw: RelaxExpr
    zero: RelaxExpr | None

    @property
    def dtype(self) -> str:
        """The data type of the bytes."""
        info = info_of(self.raw)
        assert info is not None, "bytes are of a tensor"
        return str(info.dtype)


def moved(bb: BlockBuilder, a: Centred, dtype: str) -> Centred:
    """The same numbers with bytes of this type: those of the other are 128 apart."""
    if a.dtype == dtype:
        return a
    by = 128 if dtype == "uint8" else -128
    wide = bb.emit(op.astype(a.raw, "int16"))
    raw = bb.emit(op.astype(bb.emit(op.add(wide, Constant(np.int16(by)))), dtype))
    shift = Constant(np.int32(by))
    return Centred(raw, shift if a.zero is None else bb.emit(op.add(a.zero, shift)))


def in_words(bb: BlockBuilder, a: Centred) -> RelaxExpr:
    """The numbers themselves, in 16 bits."""
    wide = bb.emit(op.astype(a.raw, "int16"))
    if a.zero is None:
        return wide
    return bb.emit(op.subtract(wide, bb.emit(op.astype(a.zero, "int16"))))


def less(bb: BlockBuilder, sums: RelaxExpr, pairs: list[RelaxExpr]) -> RelaxExpr:
    """Sums less the products of pairs, in one step: it is computed where the sums are made."""
    if not pairs:
        return sums

    def compute(x: te.Tensor, *factors: te.Tensor) -> Any:
        def element(*at: Any) -> Any:
            value = x(*at)
            for one, other in zip(factors[::2], factors[1::2]):
                value = value - _at(one, at) * _at(other, at)
            return value

        return te.compute(x.shape, element, name="recentred")

    return bb.call_te(compute, sums, *pairs, primfunc_name_hint="recentred")


def _at(x: te.Tensor, index: tuple[Any, ...]) -> Any:
    """The element that is broadcast to an index."""
    rank = len(x.shape)
    last = index[len(index) - rank :]
    return x(*[0 if is_one(d) else i for d, i in zip(x.shape, last)])
