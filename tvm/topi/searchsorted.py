"""Indices in sorted rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import te, tir
from tvm.error import ShapeError
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained

from .common import known, same_extent
from .loops import load, locals_, parallel, repeat_while, sequence, store, when
from .reshaping import reshape
from .utils import prod


def binary_search(
    ib: Any, sequence_offset: PrimExpr, search_range: PrimExpr, sorted_sequence: tir.Buffer,
    value: PrimExpr, right: bool, out_dtype: Any,
) -> Any:  # fmt: skip
    """The statement that halves a range of a flat sorted buffer until one index is left.

    `ib` is called with the index found and returns what is to be done with it.
    """

    def run(low: tir.Buffer, high: tir.Buffer) -> tir.Stmt:
        lo, hi = load(low, 0), load(high, 0)
        middle = lo + tir.indexdiv(hi - lo, 2)
        here = load(sorted_sequence, sequence_offset + middle)
        goes_up = here <= value if right else here < value
        halve = when(goes_up, store(low, middle + 1, 0), store(high, middle, 0))
        return sequence(
            store(low, 0, 0), store(high, search_range, 0), repeat_while(lo < hi, halve), ib(lo)
        )

    return locals_([out_dtype, out_dtype], run, ["low", "high"])


@explained
def searchsorted(
    sorted_sequence: te.Tensor, values: te.Tensor, right: bool = False, out_dtype: str = "int64"
) -> te.Tensor:
    """Where each value would be inserted in its sorted row: before equal ones, or after them.

    One row serves all values; several rows need values with the same leading dimensions.
    """
    return search(sorted_sequence, values, right, out_dtype, parallel)


def search(
    sorted_sequence: te.Tensor, values: te.Tensor, right: bool, out_dtype: str,
    each: Callable[..., tir.Stmt],
) -> te.Tensor:  # fmt: skip
    """`searchsorted` by a loop over the values that `each` makes."""
    if not sorted_sequence.ndim:
        raise ShapeError("searchsorted: a sequence of rank 0; legal: at least one dimension")
    length = sorted_sequence.shape[-1]
    per_row = values.shape[-1] if values.ndim else 1
    several = sorted_sequence.ndim > 1
    if several:
        pairs = zip(sorted_sequence.shape[:-1], values.shape[:-1])
        fits = sorted_sequence.ndim == values.ndim and all(
            same_extent(a, b) or not (known(a) and known(b)) for a, b in pairs
        )
        if not fits:
            raise ShapeError(
                "searchsorted: the leading dimensions of sequence and values differ; legal: equal "
                "ones, or one sequence for all"
            )
    total = prod(values.shape) if values.ndim else tir.const(1, "int32")

    flat = [t if t.ndim == 1 else reshape(t, [prod(t.shape)]) for t in (sorted_sequence, values)]

    def body(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        def step(k: PrimExpr) -> tir.Stmt:
            row = tir.indexdiv(k, per_row) if several else tir.const(0, k.dtype)
            return binary_search(  # type: ignore[no-any-return]
                lambda index: store(outs[0], index, k), row * length, length, ins[0],
                load(ins[1], k), right, out_dtype,
            )  # fmt: skip

        return each(total, step, "k")

    names = ("sorted_sequence", "values")
    buffers = [tir.decl_buffer(t.shape, t.dtype, n) for t, n in zip(flat, names)]
    out = tir.decl_buffer((total,), out_dtype, "out")
    result = te.extern(
        [(total,)], flat, body, dtype=[out_dtype], in_buffers=buffers, out_buffers=[out],
        name="searchsorted",
    )  # fmt: skip
    assert isinstance(result, te.Tensor), "one output was declared"
    return result if values.ndim == 1 else reshape(result, values.shape)
