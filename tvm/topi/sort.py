"""Sorting along an axis: by a stable merge, in loops that every backend compiles.

The first few elements in order are selected instead, by a heap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.support.dtype import DataType
from tvm.tir.expr import as_expr

from . import tag
from .common import check_same, ravel, stage
from .loops import (
    let,
    load,
    local,
    locals_,
    loop,
    parallel,
    repeat_while,
    sequence,
    store,
    when,
)
from .reshaping import reshape, transpose
from .utils import normal_axis, prod, swap

INDEX = DataType("int32")
SHARE = 4  # a heap selects up to one in so many; more are sorted with the rest


def comes_first(ascending: bool) -> Callable[[PrimExpr, PrimExpr], PrimExpr]:
    """Whether a stays before b: on ties the earlier one stays first; NaN goes last."""

    def rule(a: PrimExpr, b: PrimExpr) -> PrimExpr:
        keeps = a <= b if ascending else a >= b
        if not a.dtype.is_floating:
            return keeps
        return tir.any(keeps, tir.isnan(b))

    return rule


def _sort_rows(
    keys: tir.Buffer, order: tir.Buffer, spare: tir.Buffer, rows: Any, length: Any, count_of: Any,
    ascending: bool,
) -> tir.Stmt:  # fmt: skip
    """Fill `order` (rows, length) with the indices of the keys in sorted order.

    A merge sort from the bottom up: runs of 1, 2, 4, ... indices are merged from `order` into
    `spare` and copied back. Keys beyond `count_of(row)` keep their indices.
    """
    stays = comes_first(ascending)

    def row_body(row: PrimExpr) -> tir.Stmt:
        def key(buffer: tir.Buffer, position: PrimExpr) -> PrimExpr:
            return load(keys, row, load(buffer, row, position))

        def merge(width: PrimExpr, low: PrimExpr, count: PrimExpr) -> tir.Stmt:
            middle, high = te.min(low + width, count), te.min(low + width * 2, count)

            def run(i: tir.Buffer, j: tir.Buffer) -> tir.Stmt:
                a, b = load(i, 0), load(j, 0)
                # each test only looks at what the one before left open
                first = stays(key(order, a), key(order, b))
                more = tir.if_then_else(b >= high, tir.const(True), first)
                left = tir.if_then_else(a >= middle, tir.const(False), more)

                def step(k: PrimExpr) -> tir.Stmt:
                    take_left = sequence(
                        store(spare, load(order, row, a), row, low + k), store(i, a + 1, 0)
                    )
                    take_right = sequence(
                        store(spare, load(order, row, b), row, low + k), store(j, b + 1, 0)
                    )
                    return when(left, take_left, take_right)

                return sequence(store(i, low, 0), store(j, middle, 0), loop(high - low, step, "k"))

            return locals_([INDEX, INDEX], run, ["left", "right"])

        def passes(width: tir.Buffer) -> tir.Stmt:
            w, count = load(width, 0), count_of(row)
            runs = tir.floordiv(count + w * 2 - 1, w * 2)
            body = sequence(
                loop(runs, lambda r: merge(w, r * w * 2, count), "run"),
                loop(count, lambda k: store(order, load(spare, row, k), row, k), "k"),
                store(width, w * 2, 0),
            )
            return sequence(store(width, 1, 0), repeat_while(w < count, body))

        fill = loop(length, lambda k: store(order, k, row, k), "k")
        return sequence(fill, local(INDEX, passes, name="width"))

    return parallel(rows, row_body, "row")


def _order(rows: te.Tensor, valid_count: te.Tensor | None, ascending: bool) -> te.Tensor:
    """The indices of the elements of each row of a matrix in sorted order."""
    lead, length = rows.shape
    inputs = [rows] if valid_count is None else [rows, valid_count]

    def body(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
        spare = tir.decl_buffer((lead, length), INDEX, "spare")

        def count_of(row: PrimExpr) -> PrimExpr:
            count = length if valid_count is None else load(ins[1], row)
            return count.astype(INDEX)

        size = length.astype(INDEX)
        stmt = _sort_rows(ins[0], outs[0], spare, lead, size, count_of, ascending)
        stmt = tir.DeclBuffer(spare, stmt)
        return tir.Allocate(spare.data, INDEX, [lead, length], tir.const(True), stmt)

    buffers = [tir.decl_buffer(t.shape, t.dtype, f"in{k}") for k, t in enumerate(inputs)]
    out = tir.decl_buffer(rows.shape, INDEX, "order_buf")
    result = te.extern(
        [rows.shape], inputs, body, dtype=[INDEX], in_buffers=buffers, out_buffers=[out],
        name="argsort_cpu", tag="argsort_cpu",
    )  # fmt: skip
    assert isinstance(result, te.Tensor), "one output was declared"
    return result


def _select_rows(
    keys: tir.Buffer, chosen: tir.Buffer, rows: Any, length: Any, count: Any, ascending: bool
) -> tir.Stmt:
    """Fill `chosen` (rows, count) with the indices of the keys that come first, in sorted order.

    The indices so far are a heap whose root comes last of them: most keys only meet the root. In
    the end the roots are taken out, from the last one to the first.
    """
    stays = comes_first(ascending)

    def row_body(row: PrimExpr) -> tir.Stmt:
        def at(position: PrimExpr) -> PrimExpr:
            return load(chosen, row, position)

        def before(a: PrimExpr, b: PrimExpr) -> PrimExpr:
            """Of two indices, in any order, whether the key of the first one comes first."""
            x, y = load(keys, row, a), load(keys, row, b)
            return tir.Select(a < b, stays(x, y), tir.Not(stays(y, x)))

        def sink(position: PrimExpr, start: Any, size: PrimExpr) -> tir.Stmt:
            """Put an index where a heap of this size has a gap, or below it."""

            def run(gap: tir.Buffer, below: tir.Buffer) -> tir.Stmt:
                child = load(below, 0)
                other = tir.if_then_else(child + 1 < size, before(at(child), at(child + 1)), False)
                fill = sequence(
                    store(chosen, at(child), row, load(gap, 0)),
                    store(gap, child, 0),
                    store(below, child * 2 + 1, 0),
                )
                step = sequence(
                    when(other, store(below, child + 1, 0)),
                    when(before(position, at(child)), fill, store(below, size, 0)),
                )
                return sequence(
                    store(gap, start, 0),
                    store(below, start * 2 + 1, 0),
                    repeat_while(child < size, step),
                    store(chosen, position, row, load(gap, 0)),
                )

            return locals_([INDEX, INDEX], run, ["gap", "below"])

        def heaped(k: PrimExpr) -> tir.Stmt:
            start = tir.floordiv(count, 2) - 1 - k
            return let(at(start), lambda position: sink(position, start, count), "place")

        def met(k: PrimExpr) -> tir.Stmt:
            position = k + count
            root = load(keys, row, at(tir.const(0, INDEX)))
            late = tir.Not(stays(root, load(keys, row, position)))
            return when(late, sink(position, tir.const(0, INDEX), count))

        def taken(k: PrimExpr) -> tir.Stmt:
            last, root = count - 1 - k, tir.const(0, INDEX)

            def move(position: PrimExpr) -> tir.Stmt:
                return sequence(store(chosen, at(root), row, last), sink(position, root, last))

            return let(at(last), move, "place")

        return sequence(
            loop(count, lambda k: store(chosen, k, row, k), "k"),
            loop(tir.floordiv(count, 2), heaped, "k"),
            loop(length - count, met, "k"),
            loop(te.max(count - 1, 0), taken, "k"),
        )

    return parallel(rows, row_body, "row")


def _is_few(count: Any, length: Any) -> bool | PrimExpr:
    """Whether so many are selected and not sorted; an expression where extents are open."""
    few = as_expr(count).astype("int64") * SHARE <= as_expr(length).astype("int64")
    found = Analyzer().simplify(few)
    return bool(found.value) if isinstance(found, tir.IntImm) else found


def _first(rows: te.Tensor, count: Any, ascending: bool) -> te.Tensor:
    """The indices of the first `count` elements of each row of a matrix in sorted order.

    Where extents are open, the sizes of the call decide between selecting and sorting.
    """
    lead, length = rows.shape
    few = _is_few(count, length)

    def body(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
        chosen, size = outs[0], length.astype(INDEX)
        number = te.min(as_expr(count).astype(INDEX), size)
        selected = _select_rows(ins[0], chosen, lead, size, number, ascending)
        if few is True:
            return selected
        order, spare = (tir.decl_buffer((lead, length), INDEX, n) for n in ("order", "spare"))
        whole = _sort_rows(ins[0], order, spare, lead, size, lambda _: size, ascending)

        def copy(i: PrimExpr) -> tir.Stmt:
            return loop(number, lambda k: store(chosen, load(order, i, k), i, k), "k")

        stmt = sequence(whole, parallel(lead, copy, "row"))
        for buffer in (order, spare):
            stmt = tir.DeclBuffer(buffer, stmt)
            stmt = tir.Allocate(buffer.data, INDEX, [lead, length], tir.const(True), stmt)
        return when(as_expr(few), selected, stmt)

    data = tir.decl_buffer(rows.shape, rows.dtype, "in0")
    out = tir.decl_buffer([lead, count], INDEX, "chosen_buf")
    result = te.extern(
        [[lead, count]], [rows], body, dtype=[INDEX], in_buffers=[data], out_buffers=[out],
        name="topk_cpu", tag="topk_cpu",
    )  # fmt: skip
    assert isinstance(result, te.Tensor), "one output was declared"
    return result


class _Sorted:
    """The order of the elements along an axis, and tensors picked in this order.

    With `count`, only so many elements are asked for.
    """

    def __init__(
        self, data: te.Tensor, axis: int, valid_count: te.Tensor | None, ascending: bool,
        count: Any = None,
    ) -> None:  # fmt: skip
        self.axis, self.way = axis, swap(list(range(data.ndim)), axis)
        self.data = data if axis == data.ndim - 1 else transpose(data, self.way)
        self.lead = self.data.shape[:-1]
        rows = self.data if data.ndim == 2 else reshape(self.data, self._matrix())
        if valid_count is not None and valid_count.ndim == 1:
            check_same("topi.argsort", "rows and their counts", rows.shape[0], valid_count.shape[0])
        if valid_count is not None and valid_count.ndim != 1:
            valid_count = reshape(valid_count, [rows.shape[0]])
        if count is None or _is_few(count, rows.shape[1]) is False:
            self.order = _order(rows, valid_count, ascending)
        else:
            self.order = _first(rows, count, ascending)

    def _matrix(self) -> list[Any]:
        return [prod(self.lead) if self.lead else 1, self.data.shape[-1]]

    def _source(self, i: Sequence[Any]) -> PrimExpr:
        """Where the element stands that comes at this index."""
        row = ravel(i[:-1], self.lead) if self.lead else tir.const(0, i[-1].dtype)
        return self.order(row, i[-1])

    def values(self, count: Any) -> te.Tensor:
        """The first elements in order."""
        rows = self.data

        def element(*i: Any) -> PrimExpr:
            return rows(*i[:-1], self._source(i))

        return self._back(stage([*self.lead, count], element, "sort_cpu", tag.INJECTIVE))

    def indices(self, count: Any, dtype: Any) -> te.Tensor:
        """The indices of the first elements in order."""

        def element(*i: Any) -> PrimExpr:
            return self._source(i).astype(dtype)

        return self._back(stage([*self.lead, count], element, "argsort_cpu", tag.INJECTIVE))

    def _back(self, rows: te.Tensor) -> te.Tensor:
        return rows if self.axis == rows.ndim - 1 else transpose(rows, self.way)


@explained
def sort(data: te.Tensor, axis: int = -1, is_ascend: int = 1) -> te.Tensor:
    """The elements along an axis in ascending order, or in descending."""
    dim = normal_axis(axis, data.ndim, "topi.sort")
    return _Sorted(data, dim, None, bool(is_ascend)).values(data.shape[dim])


@explained
def argsort(
    data: te.Tensor, valid_count: te.Tensor | None = None, axis: int = -1, is_ascend: int = 1,
    dtype: str = "float32",
) -> te.Tensor:  # fmt: skip
    """The indices of the elements along an axis in sorted order; equal ones keep theirs.

    With `valid_count`, only so many of each row are sorted.
    """
    dim = normal_axis(axis, data.ndim, "topi.argsort")
    ordered = _Sorted(data, dim, valid_count, bool(is_ascend))
    return ordered.indices(data.shape[dim], dtype)


@explained
def topk(
    data: te.Tensor, k: Any = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False,
    dtype: str = "int64",
) -> Any:  # fmt: skip
    """The k largest (or smallest) elements along an axis, their indices, or both; all for k < 1."""
    if ret_type not in ("both", "values", "indices"):
        raise ValueError(f"topk: ret_type {ret_type!r}; legal: 'both', 'values', 'indices'")
    dim = normal_axis(axis, data.ndim, "topi.topk")
    whole = isinstance(k, int) and k < 1
    count = data.shape[dim] if whole else k
    ordered = _Sorted(data, dim, None, bool(is_ascend), None if whole else count)
    if ret_type == "both":
        return [ordered.values(count), ordered.indices(count, dtype)]
    return ordered.values(count) if ret_type == "values" else ordered.indices(count, dtype)
