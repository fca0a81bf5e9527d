"""What the normalisations share: sums of values and of their squares in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tvm import te, tir
from tvm.error import DTypeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType
from tvm.topi import tag
from tvm.topi.common import stages
from tvm.topi.reduction import source_indices

_pair_sum = te.comm_reducer(
    lambda x, y: [x[0] + y[0], x[1] + y[1]],
    lambda a, b: [tir.const(0, a), tir.const(0, b)],
    name="pair_sum",
)


def check_floats(what: str, *tensors: te.Tensor | None) -> None:
    """All tensors are of one type, which is a float of 16 bits or more."""
    types = list(dict.fromkeys(t.dtype for t in tensors if t is not None))
    if len(types) > 1 or types[0] not in ("float32", "float16", "bfloat16", "float64"):
        raise DTypeError(
            message(
                f"{what}: only support float32, float16, bfloat16 and float64",
                found=", ".join(types),
                legal="data, gamma and beta of one of these types",
            )
        )


def accumulator(dtype: DataType) -> DataType:
    """The type in which sums are kept: float16 would overflow, bfloat16 lose what is added."""
    return DataType("float32") if dtype in ("float16", "bfloat16") else dtype


# float16 has all whole numbers up to here, so that a product of extents is exact.
_WHOLE_IN_HALF = 2048


def _count(extents: Sequence[PrimExpr], given: DataType, wide: DataType) -> PrimExpr:
    """The number of elements; of float16 as the product of such numbers where that is exact.

    So v0.22 writes it. Larger products would be rounded, or infinite, and extents may be large.
    """
    known = [extent.value for extent in extents if isinstance(extent, tir.IntImm)]
    exact = len(known) == len(extents) and prod(known) <= _WHOLE_IN_HALF
    dtype = given if given == "float16" and exact else wide
    count: PrimExpr = tir.const(1, dtype)
    for extent in extents:
        count = count * extent
    return count.astype(wide)


class Moments:
    """Sums of x and of x * x over axes, and mean and variance from them."""

    def __init__(
        self, data: te.Tensor, axes: Sequence[int], name: str, dtype: DataType | None = None
    ) -> None:
        self.data, self.axes = data, list(axes)
        self.result_dtype = data.dtype if dtype is None else dtype
        self.dtype = accumulator(data.dtype)
        taps = {a: te.reduce_axis((0, data.shape[a]), f"k{a}") for a in axes}
        self.shape = [s for i, s in enumerate(data.shape) if i not in taps]

        def element(*i: Any) -> Any:
            value = data(*source_indices(i, data.ndim, taps, self.axes)).astype(self.dtype)
            return _pair_sum((value, value * value), axis=list(taps.values()))

        self.sums, self.squares = stages(
            self.shape, element, f"{name}_red_temp", tag.COMM_REDUCE
        )
        self.count = _count([data.shape[axis] for axis in axes], data.dtype, self.dtype)

    def split(self, i: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The indices along the reduced axes, and those along the others."""
        inner = [index for k, index in enumerate(i) if k in self.axes]
        outer = [index for k, index in enumerate(i) if k not in self.axes]
        return inner, outer

    def normalised(self, i: Sequence[Any], epsilon: float) -> PrimExpr:
        """(x - mean) / sqrt(variance + epsilon), in the type of the result."""
        _, outer = self.split(i)
        mean = self.sums(*outer) / self.count
        variance = self.squares(*outer) / self.count - mean * mean
        small = tir.const(epsilon, self.dtype)
        value = (self.data(*i).astype(self.dtype) - mean) * tir.rsqrt(variance + small)
        return value.astype(self.result_dtype)
