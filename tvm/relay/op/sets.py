"""The distinct elements of a vector, in vectors of the vector's own length.

The elements are sorted and numbered by runs; the numbers go back to where the elements were. Those
that come in the order of their first index are numbered anew by that index.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm import relax
from tvm.ir.type import TupleType, Type
from tvm.relax import op as R
from tvm.relax.expr import const
from tvm.relay.expr import TupleWrapper
from tvm.relay.ty import TensorType

from .declare import OPAQUE, Expr, Relate, relay_op
from .relations import tensor


def _unique_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    if len(x.shape) != 1:
        raise ctx.fail("the operand is no vector", "one dimension")
    indices = TensorType(x.shape, "int32")
    fields: list[Type] = [x, indices, indices, TensorType((1,), "int32")]
    return TupleType([*fields, indices] if ctx.attrs.return_counts else fields)


def _unique(bb: Any, x: Any, *, sorted: bool, return_counts: bool) -> Any:
    shape, one = x.struct_info.shape, const(1, "int32")

    def scattered(start: Any, at: Any, given: Any, how: str = "update") -> Any:
        return bb.emit(R.scatter_elements(start, at, given, 0, how))

    def taken(values: Any, at: Any) -> Any:
        return bb.emit(R.take(values, at, 0))

    none, ones = bb.emit(R.zeros(shape, "int32")), bb.emit(R.ones(shape, "int32"))
    positions = bb.emit(R.subtract(bb.emit(R.cumsum(ones, 0)), one))
    order = bb.emit(R.argsort(x, 0, False, "int32"))
    values = taken(x, order)
    before = bb.emit(R.maximum(bb.emit(R.subtract(positions, one)), const(0, "int32")))
    differ = bb.emit(R.not_equal(values, taken(values, before)))
    number = bb.emit(R.cumsum(bb.emit(R.astype(differ, "int32")), 0))
    count = bb.emit(R.add(bb.emit(R.max(number, [0], True)), one))
    far = bb.emit(R.full(shape, const(np.iinfo("int32").max, "int32")))
    first = scattered(far, number, order, "min")
    distinct = scattered(bb.emit(R.zeros(shape, x.struct_info.dtype)), number, values)
    inverse = scattered(none, order, number)
    often = scattered(none, number, ones, "add")
    if not sorted:
        by_index = bb.emit(R.argsort(first, 0, False, "int32"))
        inverse = taken(scattered(none, by_index, positions), inverse)
        first, distinct, often = (taken(part, by_index) for part in (first, distinct, often))
    parts = [distinct, first, inverse, count]
    return relax.Tuple([*parts, often] if return_counts else parts)


@relay_op("unique", "UniqueAttrs", operands=("data",), relation=_unique_type, pattern=OPAQUE,
          hidden=("is_sorted",), first=("sorted",), optional={"sorted": True},
          level=3, lower=_unique)  # fmt: skip
def unique(data: Expr, is_sorted: bool = True, return_counts: bool = False) -> TupleWrapper:
    """The distinct elements of a vector (n,), in order, or in that of their first indices.

    The result: the elements, the first index of each, for each element of `data` its like in the
    first, how many there are (1,), and with `return_counts` how often each comes. All but the third
    and fourth say nothing beyond that many elements.
    """
    made = unique.call(data, sorted=bool(is_sorted), return_counts=bool(return_counts))
    return TupleWrapper(made, 5 if return_counts else 4)


__all__ = ["unique"]
