"""Sorting on a GPU: tiles in shared memory, then runs of twice the length by each launch.

Each element finds by a binary search how many elements of the run beside its own come before it
(Cole, "Parallel merge sort", 1988, searches in one step more cleverly), so a pass is as wide as
the data, whatever the elements are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi import tag
from tvm.topi.common import stage
from tvm.topi.loops import (
    blocks,
    let,
    load,
    local,
    locals_,
    loop,
    repeat_while,
    sequence,
    store,
    threads,
    wait_for_block,
    when,
)
from tvm.topi.searchsorted import search
from tvm.topi.sort import INDEX, comes_first
from tvm.topi.utils import normal_axis, prod

__all__ = [
    "argsort", "argsort_thrust", "searchsorted", "sort", "sort_ir", "sort_thrust", "topk",
    "topk_thrust",
]  # fmt: skip


_TILE = 512  # elements that a block of threads sorts in shared memory, of 16 KiB on every machine
_THREADS = 256
_STEPS = _TILE.bit_length() - 1  # runs double from one element to a tile


class _Rows:
    """A tensor as rows along an axis: the indices of an element by its row and its position."""

    def __init__(self, shape: Sequence[Any], axis: int) -> None:
        self._axis = axis
        self._rest = [extent for i, extent in enumerate(shape) if i != axis]
        self.count = prod(self._rest).astype(INDEX)
        self.length = shape[axis].astype(INDEX)

    def at(self, row: PrimExpr, position: PrimExpr) -> list[PrimExpr]:
        others: list[PrimExpr] = []
        for extent in reversed(self._rest[1:]):
            others.append(tir.indexmod(row, extent))
            row = tir.indexdiv(row, extent)
        if self._rest:
            others.append(row)
        others.reverse()
        return [*others[: self._axis], position, *others[self._axis :]]


Read: TypeAlias = Callable[[PrimExpr], PrimExpr]  # the key at a position of a row
First: TypeAlias = Callable[[PrimExpr, PrimExpr], PrimExpr]


def _merged(
    key: Read, own: PrimExpr, position: PrimExpr, width: PrimExpr, length: PrimExpr, first: First,
    then: Callable[[PrimExpr], tir.Stmt],
) -> tir.Stmt:  # fmt: skip
    """`then(goal)`: where the element goes when neighbouring runs of `width` become one.

    It is preceded by those of its own run, and by those of the other run that come first, which a
    binary search counts. Equal elements keep their order.
    """
    low = tir.floordiv(position, width * 2) * (width * 2)
    middle, high = te.min(low + width, length), te.min(low + width * 2, length)
    is_left = position < middle

    def search(begin: tir.Buffer, end: tir.Buffer) -> tir.Stmt:
        a, b = load(begin, 0), load(end, 0)
        probe = a + tir.floordiv(b - a, 2)

        def look(other: PrimExpr) -> tir.Stmt:
            # an element of the right run goes before those it comes strictly before
            before = tir.if_then_else(is_left, tir.Not(first(own, other)), first(other, own))
            return when(before, store(begin, probe + 1, 0), store(end, probe, 0))

        # (position - low) + (a - middle) + low, or the same of the left
        goal = position + a - middle
        return sequence(
            store(begin, tir.if_then_else(is_left, middle, low), 0),
            store(end, tir.if_then_else(is_left, high, middle), 0),
            repeat_while(a < b, let(key(probe), look, "other")),
            then(goal),
        )

    return locals_([INDEX, INDEX], search, ["begin", "end"])


@explained
def sort_ir(
    data: tir.Buffer,
    values_out: tir.Buffer,
    values_out_swap: tir.Buffer,
    axis: int,
    is_ascend: bool,
    indices_out: tir.Buffer | None = None,
    indices_out_swap: tir.Buffer | None = None,
) -> tir.Stmt:
    """The statement that sorts `data` along an axis into `values_out`, indices into `indices_out`.

    The two swaps are memory of the same shapes. Equal elements keep their order. Tiles are sorted
    by a launch, and then each launch merges pairs of runs, an element a thread.
    """
    rows = _Rows(data.shape, normal_axis(axis, len(data.shape), "sort_ir"))
    outs, swaps = [values_out], [values_out_swap]
    if indices_out is not None and indices_out_swap is not None:
        outs.append(indices_out)
        swaps.append(indices_out_swap)
    first = comes_first(bool(is_ascend))

    def two_passes(number: PrimExpr) -> tir.Stmt:
        width = tir.const(_TILE, INDEX) << (number * 2)
        there = _merge_pass(rows, outs, swaps, width, first)
        back = _merge_pass(rows, swaps, outs, width * 2, first)
        return when(width < rows.length, sequence(there, back))

    longest = rows.length.value if isinstance(rows.length, tir.IntImm) else 2**31 - 1
    doublings = (longest - 1).bit_length() - _STEPS
    merges = loop((doublings + 1) // 2, two_passes, "passes") if doublings > 0 else None
    return sequence(_sort_tiles(rows, data, outs, first), merges)


def _merge_pass(
    rows: _Rows, source: list[tir.Buffer], target: list[tir.Buffer], width: PrimExpr, first: First
) -> tir.Stmt:
    """Runs of `width` elements of the source become runs of twice as many in the target."""

    def element(number: PrimExpr) -> tir.Stmt:
        row, position = tir.indexdiv(number, rows.length), tir.indexmod(number, rows.length)

        def moved(goal: PrimExpr) -> tir.Stmt:
            here, there = rows.at(row, position), rows.at(row, goal)
            return sequence(*(store(t, load(s, *here), *there) for s, t in zip(source, target)))

        def key(at: PrimExpr) -> PrimExpr:
            return load(source[0], *rows.at(row, at))

        def run(own: PrimExpr) -> tir.Stmt:
            return _merged(key, own, position, width, rows.length, first, moved)

        return let(key(position), run, "own")

    return threads(rows.count * rows.length, element, "element", _THREADS)


def _sort_tiles(
    rows: _Rows, data: tir.Buffer, outs: list[tir.Buffer], first: First
) -> tir.Stmt:
    """Each tile of a row is sorted by a block of threads, between two parts of shared memory."""
    tiles = tir.indexdiv(rows.length + (_TILE - 1), _TILE)
    kinds = ([data.dtype] + [INDEX] * (len(outs) - 1)) * 2

    def of_block(block: PrimExpr, thread: PrimExpr) -> tir.Stmt:
        row, base = tir.indexdiv(block, tiles), tir.indexmod(block, tiles) * _TILE
        count = te.min(rows.length - base, tir.const(_TILE, INDEX))

        def each(body: Callable[[PrimExpr], tir.Stmt]) -> tir.Stmt:
            """The elements of a thread."""
            positions = [thread + n * _THREADS for n in range(_TILE // _THREADS)]
            return sequence(*(when(position < count, body(position)) for position in positions))

        def fill(here: Sequence[tir.Buffer], position: PrimExpr) -> tir.Stmt:
            value = load(data, *rows.at(row, base + position))
            return sequence(
                store(here[0], value, position),
                *(store(b, base + position, position) for b in here[1:]),
            )

        def step(
            here: Sequence[tir.Buffer], there: Sequence[tir.Buffer], width: PrimExpr
        ) -> tir.Stmt:
            def one(position: PrimExpr) -> tir.Stmt:
                def moved(goal: PrimExpr) -> tir.Stmt:
                    pairs = zip(here, there)
                    return sequence(*(store(b, load(a, position), goal) for a, b in pairs))

                def run(own: PrimExpr) -> tir.Stmt:
                    return _merged(
                        lambda at: load(here[0], at), own, position, width, count, first, moved
                    )

                return let(load(here[0], position), run, "own")

            return sequence(each(one), wait_for_block())

        def drain(here: Sequence[tir.Buffer], position: PrimExpr) -> tir.Stmt:
            goal = rows.at(row, base + position)
            return sequence(*(store(out, load(b, position), *goal) for b, out in zip(here, outs)))

        def work(held: Sequence[tir.Buffer]) -> tir.Stmt:
            here, there = held[: len(outs)], held[len(outs) :]

            def two(number: PrimExpr) -> tir.Stmt:
                width = tir.const(1, INDEX) << (number * 2)
                return sequence(step(here, there, width), step(there, here, width * 2))

            return sequence(
                each(lambda position: fill(here, position)), wait_for_block(),
                loop(tir.const(-(-_STEPS // 2), INDEX), two, "steps"),
                each(lambda position: drain(here, position)),
            )  # fmt: skip

        def with_memory(held: Sequence[tir.Buffer]) -> tir.Stmt:
            if len(held) == len(kinds):
                return work(held)
            return local(
                kinds[len(held)], lambda b: with_memory([*held, b]), _TILE, "tile", "shared"
            )

        return with_memory([])

    return blocks(rows.count * tiles, _THREADS, of_block)


def _sorted(
    data: te.Tensor, axis: int, is_ascend: Any, name: str, dtype: Any = None
) -> list[te.Tensor]:
    """The elements in order along the axis, and with a `dtype` their indices."""
    dim = normal_axis(axis, data.ndim, name)
    kinds = [data.dtype] * 2 + ([] if dtype is None else [dtype] * 2)
    source = tir.decl_buffer(data.shape, data.dtype, "data")
    outs = [tir.decl_buffer(data.shape, kind, f"out{i}") for i, kind in enumerate(kinds)]
    made: Any = te.extern(
        [data.shape] * len(kinds), [data],
        lambda ins, out: sort_ir(ins[0], out[0], out[1], dim, bool(is_ascend), *out[2:]),
        dtype=kinds, in_buffers=[source], out_buffers=outs, name=f"{name}_gpu", tag=f"{name}_gpu",
    )  # fmt: skip
    return list(made[::2])


@explained
def sort(data: te.Tensor, axis: int = -1, is_ascend: int = 1) -> te.Tensor:
    """The elements along an axis in ascending order, or in descending."""
    return _sorted(data, axis, is_ascend, "sort")[0]


@explained
def argsort(
    data: te.Tensor, axis: int = -1, is_ascend: int = 1, dtype: str = "float32",
    ret_type: str = "indices",
) -> Any:  # fmt: skip
    """The indices of the elements along an axis in sorted order; with the elements for "both"."""
    if ret_type not in ("both", "indices"):
        raise ValueError(f"argsort: ret_type {ret_type!r}; legal: 'both', 'indices'")
    values, indices = _sorted(data, axis, is_ascend, "argsort", dtype)
    return [values, indices] if ret_type == "both" else indices


@explained
def topk(
    data: te.Tensor, k: Any = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False,
    dtype: str = "int64",
) -> Any:  # fmt: skip
    """The k largest (or smallest) elements along an axis, their indices, or both; all for k < 1."""
    values, indices = _sorted(data, axis, is_ascend, "topk", dtype)
    return _first(data, values, indices, k, axis, ret_type, dtype)


def _first(
    data: te.Tensor, values: te.Tensor, indices: te.Tensor, k: Any, axis: int, ret_type: str,
    dtype: Any,
) -> Any:  # fmt: skip
    if ret_type not in ("both", "values", "indices"):
        raise ValueError(f"topk: ret_type {ret_type!r}; legal: 'both', 'values', 'indices'")
    at = normal_axis(axis, data.ndim, "topk")
    whole = isinstance(k, int) and k < 1
    shape = [k if i == at and not whole else extent for i, extent in enumerate(data.shape)]
    best = stage(shape, lambda *i: values(*i), "values", tag.INJECTIVE)
    where = stage(shape, lambda *i: indices(*i).astype(dtype), "indices", tag.INJECTIVE)
    return [best, where] if ret_type == "both" else best if ret_type == "values" else where


@explained
def searchsorted(
    sorted_sequence: te.Tensor, values: te.Tensor, right: bool = False, out_dtype: str = "int64"
) -> te.Tensor:
    """Where each value would be inserted in its sorted row: before equal ones, or after them."""
    return search(sorted_sequence, values, right, out_dtype, threads)


# --- by the library Thrust, whose function is looked up at run time ---


def _thrust(
    data: te.Tensor, axis: int, is_ascend: Any, dtype: Any, workspace: te.Tensor | None, name: str
) -> tuple[te.Tensor, te.Tensor]:
    dim = normal_axis(axis, data.ndim, name)
    if dim != data.ndim - 1:
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


@explained
def sort_thrust(
    data: te.Tensor, axis: int = -1, is_ascend: int = 1, workspace: te.Tensor | None = None
) -> te.Tensor:
    """The elements along the last axis in order."""
    return _thrust(data, axis, is_ascend, "int32", workspace, "sort_thrust")[0]


@explained
def argsort_thrust(
    data: te.Tensor, axis: int = -1, is_ascend: int = 1, dtype: str = "float32",
    ret_type: str = "indices", workspace: te.Tensor | None = None,
) -> Any:  # fmt: skip
    """The indices of the elements along the last axis in order; with the elements for "both"."""
    if ret_type not in ("both", "indices"):
        raise ValueError(f"argsort_thrust: ret_type {ret_type!r}; legal: 'both', 'indices'")
    values, indices = _thrust(data, axis, is_ascend, dtype, workspace, "argsort_thrust")
    return [values, indices] if ret_type == "both" else indices


@explained
def topk_thrust(
    data: te.Tensor, k: Any = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False,
    dtype: str = "int64", workspace: te.Tensor | None = None,
) -> Any:  # fmt: skip
    """The k largest (or smallest) elements along the last axis, their indices, or both."""
    values, indices = _thrust(data, axis, is_ascend, dtype, workspace, "topk_thrust")
    return _first(data, values, indices, k, axis, ret_type, dtype)
