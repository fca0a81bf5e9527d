"""Discrete Fourier transforms of a real and an imaginary part, from products with matrices.

A length that is a number is taken apart into factors, as far as it has some; one that only
running tells is one product with a matrix made then, or, where that would be large, the sum that
defines the transform.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tvm import te, tir
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Constant, TupleGetItem
from tvm.relax.extents import extents_of
from tvm.relax.shape_math import same_extent
from tvm.relax.struct_info import ShapeExpr
from tvm.tir.analysis import undefined_vars
from tvm.tir.expr import IntImm
from tvm.tir.functor import substitute
from tvm.topi.signal import dft as topi_dft

from .branches import either

# Up to this length a transform is one product with a matrix; longer ones are taken apart.
LONGEST_MATRIX = 128
# Up to this length a matrix is made while the program runs: 32 MB for both parts.
LONGEST_MADE = 2048


class Fourier:
    """Transforms along the last axis; the inverse is divided by the length."""

    def __init__(self, bb: BlockBuilder, dtype: str, *, inverse: bool) -> None:
        self.bb = bb
        self.dtype = dtype
        self.inverse = inverse
        self.sign = 1.0 if inverse else -1.0

    def run(
        self, re: RelaxExpr, im: RelaxExpr | None, n: int | PrimExpr
    ) -> tuple[RelaxExpr, RelaxExpr]:
        """(..., n), (..., n) -> the same; without an imaginary part it is zero."""
        if isinstance(n, IntImm):
            n = int(n.value)
        if isinstance(n, PrimExpr):
            return self._open(re, im, n)
        re, im = self._transform(re, im, n)
        if self.inverse:
            scale = self._constant(np.asarray(1 / n))
            re, im = self._emit(op.multiply(re, scale)), self._emit(op.multiply(im, scale))
        return re, im

    # --- lengths that are numbers ---

    def _transform(
        self, re: RelaxExpr, im: RelaxExpr | None, n: int
    ) -> tuple[RelaxExpr, RelaxExpr]:
        if n <= LONGEST_MATRIX:
            angle = self.sign * 2 * np.pi * (np.outer(np.arange(n), np.arange(n)) % n) / n
            return self._product(
                re, im, self._constant(np.cos(angle)), self._constant(np.sin(angle))
            )
        rows = max((d for d in range(2, int(n**0.5) + 1) if n % d == 0), default=0)
        if rows:
            return self._in_parts(re, im, rows, n // rows)
        parts = self._whole(re, im)  # a long prime has no parts
        if not self.inverse:
            return parts
        scale = self._constant(np.asarray(n))  # topi divides by the length; so does `run`
        return tuple(self._emit(op.multiply(part, scale)) for part in parts)  # type: ignore[return-value]

    def _in_parts(
        self, re: RelaxExpr, im: RelaxExpr | None, rows: int, columns: int
    ) -> tuple[RelaxExpr, RelaxExpr]:
        """Cooley and Tukey 1965: transforms of the columns, turned, and then of the rows."""
        re, im = self._grid(re, rows, columns), im and self._grid(im, rows, columns)
        re, im = self._transform(self._swapped(re), im and self._swapped(im), rows)
        n = rows * columns
        turns = np.outer(np.arange(columns), np.arange(rows))
        angle = self.sign * 2 * np.pi * turns / n
        cos, sin = self._constant(np.cos(angle)), self._constant(np.sin(angle))
        re, im = (
            self._emit(op.subtract(op.multiply(re, cos), op.multiply(im, sin))),
            self._emit(op.add(op.multiply(re, sin), op.multiply(im, cos))),
        )
        re, im = self._transform(self._swapped(re), self._swapped(im), columns)
        return self._row(self._swapped(re)), self._row(self._swapped(im))

    def _grid(self, value: RelaxExpr, rows: int, columns: int) -> RelaxExpr:
        return self._emit(op.reshape(value, [*_extents(value)[:-1], rows, columns]))

    def _row(self, value: RelaxExpr) -> RelaxExpr:
        *outer, a, b = _extents(value)
        return self._emit(op.reshape(value, [*outer, a * b]))

    def _swapped(self, value: RelaxExpr) -> RelaxExpr:
        rank = len(_extents(value))
        return self._emit(op.permute_dims(value, [*range(rank - 2), rank - 1, rank - 2]))

    # --- lengths that running tells ---

    def _open(
        self, re: RelaxExpr, im: RelaxExpr | None, n: PrimExpr
    ) -> tuple[RelaxExpr, RelaxExpr]:
        number = self._emit(op.reshape(op.shape_to_tensor(ShapeExpr([n])), ()))
        is_short = self._emit(op.less_equal(number, Constant(np.array(LONGEST_MADE))))
        given = [re] if im is None else [re, im]

        def by_matrix(values: Any) -> list[RelaxExpr]:
            cos, sin = (self._made(n, wave) for wave in (tir.cos, tir.sin))
            parts = self._product(values[0], values[1] if len(values) > 1 else None, cos, sin)
            if not self.inverse:
                return list(parts)
            scale = self._emit(op.astype(op.shape_to_tensor(ShapeExpr([n])), self.dtype))
            return [self._emit(op.divide(part, scale)) for part in parts]

        def by_sum(values: Any) -> list[RelaxExpr]:
            return list(self._whole(values[0], values[1] if len(values) > 1 else None))

        shape = _extents(re)
        symbols = list(dict.fromkeys(v for extent in shape for v in undefined_vars(extent)))
        found = either(self.bb, is_short, given, by_matrix, by_sum, symbols)
        return found[0], found[1]

    def _made(self, n: PrimExpr, wave: Any) -> RelaxExpr:
        """The cosine or sine of 2 pi i k / n for all index pairs (i, k)."""
        symbols = list(undefined_vars(n))

        def table(*given: PrimExpr) -> te.Tensor:
            length = substitute(n, dict(zip(symbols, given)))

            def element(i: PrimExpr, k: PrimExpr) -> PrimExpr:
                turns = tir.indexmod(i * k, length).astype(self.dtype)
                angle = tir.const(self.sign * 2 * math.pi, self.dtype) * turns
                found: PrimExpr = wave(angle / length.astype(self.dtype))
                return found

            made: te.Tensor = te.compute((length, length), element, "turns")
            return made

        return self.bb.emit_te(table, *symbols, primfunc_name_hint="turns")

    def _whole(self, re: RelaxExpr, im: RelaxExpr | None) -> tuple[RelaxExpr, RelaxExpr]:
        """By the sum that defines it; the inverse is divided by the length."""
        im = self._emit(op.zeros_like(re)) if im is None else im
        both = self.bb.emit_te(topi_dft, re, im, IntImm("int32", int(self.inverse)))
        return self._emit(TupleGetItem(both, 0)), self._emit(TupleGetItem(both, 1))

    # --- parts ---

    def _product(
        self, re: RelaxExpr, im: RelaxExpr | None, cos: RelaxExpr, sin: RelaxExpr
    ) -> tuple[RelaxExpr, RelaxExpr]:
        if im is None:
            return self._emit(op.matmul(re, cos)), self._emit(op.matmul(re, sin))
        return (
            self._emit(op.subtract(op.matmul(re, cos), op.matmul(im, sin))),
            self._emit(op.add(op.matmul(re, sin), op.matmul(im, cos))),
        )

    def _constant(self, array: Any) -> Constant:
        return Constant(np.asarray(array, self.dtype))

    def _emit(self, value: RelaxExpr) -> RelaxExpr:
        return self.bb.emit(value)


def mirrored(
    bb: BlockBuilder, re: RelaxExpr, im: RelaxExpr | None, n: int | PrimExpr
) -> tuple[RelaxExpr, RelaxExpr | None]:
    """All n elements along the last axis of a transform of real numbers, from the first half."""
    last = len(_extents(re)) - 1
    rest = n - (n // 2 + 1)

    def whole(part: RelaxExpr, sign: Any) -> RelaxExpr:
        tail = bb.emit(op.strided_slice(part, [last], [1], [1 + rest]))
        return bb.emit(op.concat([part, sign(bb.emit(op.flip(tail, last)))], last))

    return whole(re, lambda tail: tail), im and whole(im, op.negative)


def sized(bb: BlockBuilder, value: RelaxExpr, n: int | PrimExpr) -> RelaxExpr:
    """The first n elements of the last axis, or all with zeros after them."""
    shape = _extents(value)
    have, last = shape[-1], len(shape) - 1
    if not isinstance(n, PrimExpr) and isinstance(have, IntImm):
        if have.value >= n:
            cut = op.strided_slice(value, [last], [0], [n])
            return value if have.value == n else bb.emit(cut)
        return bb.emit(op.nn.pad(value, [0] * (2 * last + 1) + [n - have.value]))
    if same_extent(have, n if isinstance(n, PrimExpr) else IntImm("int64", n)):
        return value
    symbols = list(undefined_vars(n)) if isinstance(n, PrimExpr) else []

    def fitted(x: te.Tensor, *given: PrimExpr) -> te.Tensor:
        length = substitute(n, dict(zip(symbols, given))) if symbols else n
        zero = tir.const(0, x.dtype)

        def element(*i: PrimExpr) -> PrimExpr:
            return tir.if_then_else(i[-1] < x.shape[-1], x(*i), zero)

        made: te.Tensor = te.compute((*x.shape[:-1], length), element, "fitted")
        return made

    return bb.emit_te(fitted, value, *symbols, primfunc_name_hint="fitted")


def _extents(value: RelaxExpr) -> list[Any]:
    found = extents_of(value)
    assert found is not None, "signals have a known shape"
    return list(found)


__all__ = ["LONGEST_MADE", "LONGEST_MATRIX", "Fourier", "mirrored", "sized"]
