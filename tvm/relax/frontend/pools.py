"""Pools over (n, c, ...) as frameworks mean them: which windows there are, where the largest is."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.ir.structural import structural_equal
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder


def within_data(
    bb: BlockBuilder, value: RelaxExpr, extents: Sequence[PrimExpr | int], kernel: Sequence[int],
    strides: Sequence[int], pads: Sequence[int], dilations: Sequence[int],
) -> RelaxExpr:  # fmt: skip
    """A pool in ceil mode without windows that start behind the data, in the pads after it.

    `extents` are those of the data, `pads` first those before all axes, then those after.
    """
    value = bb.normalize(value)
    have = value.struct_info.shape.values[2:]  # type: ignore[attr-defined]
    simplify = Analyzer().simplify
    axes: list[int] = []
    ends: list[PrimExpr] = []
    for i, (count, extent) in enumerate(zip(have, extents)):
        reach = (kernel[i] - 1) * dilations[i] + 1
        if strides[i] + pads[len(kernel) + i] <= reach:
            continue  # the last window starts at most `stride - 1` behind the last that fits
        starts = tir.floordiv(extent + (pads[i] + strides[i] - 1), strides[i])
        end = simplify(tir.min(count, tir.Cast("int64", starts)))
        if not structural_equal(end, count):
            axes.append(2 + i)
            ends.append(end)
    return op.strided_slice(bb.emit(value), axes, [0] * len(ends), ends) if axes else value


def first_largest(pair: Any, axis: Any) -> Any:
    """The index of the first of the largest values, and that value, of (index, value)."""
    reducer = te.comm_reducer(
        lambda a, b: [tir.Select(a[1] >= b[1], a[0], b[0]), tir.max(a[1], b[1])],
        lambda index, value: [tir.const(-1, index), tir.min_value(value)],
        name="argmax",
    )
    return reducer(pair, axis=axis)


def max_pool_indices(
    bb: BlockBuilder, data: RelaxExpr, out: Sequence[PrimExpr | int], kernel: Sequence[int],
    strides: Sequence[int], pads: Sequence[PrimExpr | int], dilations: Sequence[int],
    *, of_plane: bool, by_column: bool = False,
) -> RelaxExpr:  # fmt: skip
    """The flat index of each window's first largest element: int64 of shape `out`.

    Indices count through the plane of the channel (`of_plane`), or through all of the data; in a
    plane the last axis is the fastest one, `by_column` the first. `pads` are those before the axes.
    """
    spatial = list(range(len(kernel)))
    def compute(x: te.Tensor, pads: Any, out: Any) -> Any:
        taps = [te.reduce_axis((0, k), f"k{d}") for d, k in enumerate(kernel)]

        def element(n: Any, c: Any, *at: Any) -> Any:
            position = [at[d] * strides[d] - pads[d] + taps[d] * dilations[d] for d in spatial]
            inside = [position[d] >= 0 for d in spatial]
            inside += [position[d] < x.shape[2 + d] for d in spatial]
            value = tir.if_then_else(tir.all(*inside), x(n, c, *position), tir.min_value(x.dtype))
            flat: Any = 0
            for d in reversed(spatial) if by_column else spatial:
                flat = flat * x.shape[2 + d] + position[d]
            if not of_plane:
                size = functools.reduce(lambda a, b: a * b, x.shape[2:])
                flat = (n * x.shape[1] + c) * size + flat
            return first_largest((flat.astype("int64"), value), axis=taps)

        return te.compute(out, element, name="indices")[0]

    given = [data, list(pads), list(out)]
    return bb.emit_te(compute, *given, primfunc_name_hint="max_pool_indices")
