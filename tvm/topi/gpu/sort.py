"""Sorting on a GPU: each thread merges the runs of one row, from the bottom up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.topi import tag
from tvm.topi.common import stage
from tvm.topi.loops import (
    load,
    local,
    locals_,
    loop,
    repeat_while,
    sequence,
    store,
    threads,
    when,
)
from tvm.topi.searchsorted import search
from tvm.topi.sort import INDEX, comes_first
from tvm.topi.utils import normal_axis, prod

__all__ = [
    "argsort", "argsort_thrust", "searchsorted", "sort", "sort_ir", "sort_thrust", "topk",
    "topk_thrust",
]  # fmt: skip


class _Row:
    """One row of a tensor: its elements by their place along the axis."""

    def __init__(self, shape: Sequence[Any], axis: int, number: PrimExpr) -> None:
        rest = [extent for i, extent in enumerate(shape) if i != axis]
        self._axis = axis
        self._others: list[PrimExpr] = []
        for extent in reversed(rest[1:]):
            self._others.append(tir.indexmod(number, extent))
            number = tir.indexdiv(number, extent)
        if rest:
            self._others.append(number)
        self._others.reverse()

    def at(self, place: PrimExpr) -> list[PrimExpr]:
        return [*self._others[: self._axis], place, *self._others[self._axis :]]


def sort_ir(
    data: tir.Buffer,
    values_out: tir.Buffer,
    values_out_swap: tir.Buffer,
    axis: int,
    is_ascend: bool,
    indices_out: tir.Buffer | None = None,
    indices_out_swap: tir.Buffer | None = None,
) -> tir.Stmt:
    """The statement that sorts `data` along an axis into `values_out`, places into `indices_out`.

    The two swaps are memory of the same shapes. Equal elements keep their order.
    """
    axis = normal_axis(axis, len(data.shape), "sort_ir")
    length = data.shape[axis].astype(INDEX)
    rows = prod([extent for i, extent in enumerate(data.shape) if i != axis])
    pairs = [(values_out, values_out_swap)]
    if indices_out is not None and indices_out_swap is not None:
        pairs.append((indices_out, indices_out_swap))
    first = comes_first(bool(is_ascend))

    def run(number: PrimExpr) -> tir.Stmt:
        row = _Row(data.shape, axis, number)

        def moved(source: PrimExpr, target: PrimExpr) -> tir.Stmt:
            """Elements of the results go to their swaps."""
            return sequence(
                *(store(swap, load(out, *row.at(source)), *row.at(target)) for out, swap in pairs)
            )

        def merge(width: PrimExpr, low: PrimExpr) -> tir.Stmt:
            middle, high = te.min(low + width, length), te.min(low + width * 2, length)

            def both(i: tir.Buffer, j: tir.Buffer) -> tir.Stmt:
                a, b = load(i, 0), load(j, 0)
                keeps = first(load(values_out, *row.at(a)), load(values_out, *row.at(b)))
                # each test only looks at what the one before left open
                more = tir.if_then_else(b >= high, tir.const(True), keeps)
                left = tir.if_then_else(a >= middle, tir.const(False), more)

                def step(k: PrimExpr) -> tir.Stmt:
                    take_left = sequence(moved(a, low + k), store(i, a + 1, 0))
                    take_right = sequence(moved(b, low + k), store(j, b + 1, 0))
                    return when(left, take_left, take_right)

                return sequence(store(i, low, 0), store(j, middle, 0), loop(high - low, step, "k"))

            return locals_([INDEX, INDEX], both, ["left", "right"])

        def passes(width: tir.Buffer) -> tir.Stmt:
            w = load(width, 0)

            def back(k: PrimExpr) -> tir.Stmt:
                return sequence(
                    *(store(out, load(swap, *row.at(k)), *row.at(k)) for out, swap in pairs)
                )

            body = sequence(
                loop(tir.floordiv(length + w * 2 - 1, w * 2), lambda r: merge(w, r * w * 2), "run"),
                loop(length, back, "k"),
                store(width, w * 2, 0),
            )
            return sequence(store(width, 1, 0), repeat_while(w < length, body))

        def fill(k: PrimExpr) -> tir.Stmt:
            places = [store(out, k, *row.at(k)) for out, _ in pairs[1:]]
            return sequence(store(values_out, load(data, *row.at(k)), *row.at(k)), *places)

        return sequence(loop(length, fill, "k"), local(INDEX, passes, name="width"))

    return threads(rows, run, "row")


def _sorted(
    data: te.Tensor, axis: int, is_ascend: Any, name: str, dtype: Any = None
) -> list[te.Tensor]:
    """The elements in order along the axis, and with a `dtype` their places."""
    place = normal_axis(axis, data.ndim, name)
    kinds = [data.dtype] * 2 + ([] if dtype is None else [dtype] * 2)
    source = tir.decl_buffer(data.shape, data.dtype, "data")
    outs = [tir.decl_buffer(data.shape, kind, f"out{i}") for i, kind in enumerate(kinds)]
    made: Any = te.extern(
        [data.shape] * len(kinds), [data],
        lambda ins, out: sort_ir(ins[0], out[0], out[1], place, bool(is_ascend), *out[2:]),
        dtype=kinds, in_buffers=[source], out_buffers=outs, name=f"{name}_gpu", tag=f"{name}_gpu",
    )  # fmt: skip
    return list(made[::2])


def sort(data: te.Tensor, axis: int = -1, is_ascend: int = 1) -> te.Tensor:
    """The elements along an axis in ascending order, or in descending."""
    return _sorted(data, axis, is_ascend, "sort")[0]


def argsort(
    data: te.Tensor, axis: int = -1, is_ascend: int = 1, dtype: str = "float32",
    ret_type: str = "indices",
) -> Any:  # fmt: skip
    """The places of the elements along an axis in sorted order; with the elements for "both"."""
    if ret_type not in ("both", "indices"):
        raise ValueError(f"argsort: ret_type {ret_type!r}; legal: 'both', 'indices'")
    values, places = _sorted(data, axis, is_ascend, "argsort", dtype)
    return [values, places] if ret_type == "both" else places


def topk(
    data: te.Tensor, k: Any = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False,
    dtype: str = "int64",
) -> Any:  # fmt: skip
    """The k largest (or smallest) elements along an axis, their places, or both; all for k < 1."""
    values, places = _sorted(data, axis, is_ascend, "topk", dtype)
    return _first(data, values, places, k, axis, ret_type, dtype)


def _first(
    data: te.Tensor, values: te.Tensor, places: te.Tensor, k: Any, axis: int, ret_type: str,
    dtype: Any,
) -> Any:  # fmt: skip
    if ret_type not in ("both", "values", "indices"):
        raise ValueError(f"topk: ret_type {ret_type!r}; legal: 'both', 'values', 'indices'")
    at = normal_axis(axis, data.ndim, "topk")
    whole = isinstance(k, int) and k < 1
    shape = [k if i == at and not whole else extent for i, extent in enumerate(data.shape)]
    best = stage(shape, lambda *i: values(*i), "values", tag.INJECTIVE)
    where = stage(shape, lambda *i: places(*i).astype(dtype), "indices", tag.INJECTIVE)
    return [best, where] if ret_type == "both" else best if ret_type == "values" else where


def searchsorted(
    sorted_sequence: te.Tensor, values: te.Tensor, right: bool = False, out_dtype: str = "int64"
) -> te.Tensor:
    """Where each value would be inserted in its sorted row: before equal ones, or after them."""
    return search(sorted_sequence, values, right, out_dtype, threads)


# --- by the library Thrust, whose function is looked up at run time ---


def _thrust(
    data: te.Tensor, axis: int, is_ascend: Any, dtype: Any, workspace: te.Tensor | None, name: str
) -> tuple[te.Tensor, te.Tensor]:
    place = normal_axis(axis, data.ndim, name)
    if place != data.ndim - 1:
        raise ValueError(f"{name}: Thrust sorts along the last axis; found axis={axis}")
    given = [data] if workspace is None else [data, workspace]
    outs = [tir.decl_buffer(data.shape, kind, f"out{i}") for i, kind in
            enumerate((data.dtype, dtype))]  # fmt: skip
    made: Any = te.extern(
        [data.shape] * 2, given,
        lambda ins, out: tir.call_packed(
            "tvm.contrib.thrust.sort", ins[0], out[0], out[1], int(bool(is_ascend)), *ins[1:]
        ),
        dtype=[data.dtype, dtype], out_buffers=outs, name=name, tag=name,
    )  # fmt: skip
    return made[0], made[1]


def sort_thrust(
    data: te.Tensor, axis: int = -1, is_ascend: int = 1, workspace: te.Tensor | None = None
) -> te.Tensor:
    """The elements along the last axis in order."""
    return _thrust(data, axis, is_ascend, "int32", workspace, "sort_thrust")[0]


def argsort_thrust(
    data: te.Tensor, axis: int = -1, is_ascend: int = 1, dtype: str = "float32",
    ret_type: str = "indices", workspace: te.Tensor | None = None,
) -> Any:  # fmt: skip
    """The places of the elements along the last axis in order; with the elements for "both"."""
    if ret_type not in ("both", "indices"):
        raise ValueError(f"argsort_thrust: ret_type {ret_type!r}; legal: 'both', 'indices'")
    values, places = _thrust(data, axis, is_ascend, dtype, workspace, "argsort_thrust")
    return [values, places] if ret_type == "both" else places


def topk_thrust(
    data: te.Tensor, k: Any = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False,
    dtype: str = "int64", workspace: te.Tensor | None = None,
) -> Any:  # fmt: skip
    """The k largest (or smallest) elements along the last axis, their places, or both."""
    values, places = _thrust(data, axis, is_ascend, dtype, workspace, "topk_thrust")
    return _first(data, values, places, k, axis, ret_type, dtype)
