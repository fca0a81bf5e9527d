"""Loops whose number of turns only running tells: a private function that ends by calling itself.

    loop(go, state..., outer...):
        if go:   loop(whether there is another turn, the next state..., outer...)
        else:    (go, state...)

Native code, bytecode and the interpreter run such a function as a loop, not as calls within calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tvm import tir
from tvm.error import message
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.bind import copy_with_new_vars
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    Call,
    Constant,
    Function,
    If,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from tvm.relax.op.builtin import alloc_tensor
from tvm.relax.struct_info import FuncStructInfo, ShapeExpr, TensorStructInfo, TupleStructInfo
from tvm.relax.struct_info_rules import tir_vars_in_struct_info

Exprs: TypeAlias = Sequence[Any]

# Attributes of the kernels that copy a row: `rows[number - first] = item` holds `first`, and
# `item = rows[number // every % count]` holds `[every, count]`, a count of 0 where none is needed.
ROW_READ = "relax.row_read"
ROW_WRITTEN = "relax.row_written"


def while_loop(
    bb: BlockBuilder,
    state: Exprs,
    outer: Exprs,
    test: Callable[[Exprs, Exprs], RelaxExpr],
    body: Callable[[Exprs, Exprs], Exprs],
    symbols: Sequence[tir.Var] = (),
) -> list[RelaxExpr]:
    """The state after the last turn: `body` is repeated as long as `test` holds.

    Both get the state and the values from outside, and emit into the builder; a turn keeps the
    shapes and data types of the state. They may use `symbols` and those in the shapes of the
    values; other sizes are refused.
    """
    outer = [*outer, *told(bb, [*state, *outer], symbols)]
    go = bb.normalize_argument(test(state, outer))
    result = TupleStructInfo([go.struct_info, *(value.struct_info for value in state)])

    def turn(given: list[Var]) -> list[RelaxExpr]:
        before, around = given[: len(state)], given[len(state) :]
        after = [bb.normalize_argument(value) for value in body(before, around)]
        _check_kept(before, after)
        return [bb.normalize_argument(test(after, around)), *after, *around]

    names = ["state"] * len(state) + ["outer"] * len(outer)
    params = [Var(n, v.struct_info) for n, v in zip(names, (*state, *outer))]
    loop = repeated(bb, "loop", params, len(state), result, turn)
    made = bb.emit(Call(loop, [go, *state, *outer]))
    return [TupleGetItem(made, i + 1) for i in range(len(state))]


def scan(
    bb: BlockBuilder,
    state: Exprs,
    scanned: Exprs,
    outer: Exprs,
    body: Callable[[Exprs, Exprs, Exprs], tuple[Exprs, Exprs]],
    rows: Exprs,
    symbols: Sequence[tir.Var] = (),
    *,
    in_batches: bool = False,
    read: Sequence[tuple[int, int]] = (),
) -> tuple[list[RelaxExpr], list[RelaxExpr]]:
    """The state after a turn for each slice along the first axis, and what turns gave, stacked.

    `body` gets the state, the slices and the values from outside; it gives the next state, and
    values of the struct infos `rows`. Slices and rows that are `in_batches` keep the first axis, of
    extent 1; such slices lie where the whole does, and nothing in the body writes into them. Then
    `read` may say of each value which slice a turn gets, as `(every, count)` of `read_batch`; the
    turns are as many as the first value has slices.
    """
    ways = [*read, *[(1, 0)] * (len(scanned) - len(read))]
    written = written_batch if in_batches else written_row
    states, count = len(state), scanned[0].struct_info.shape.values[0]
    room = [
        bb.emit(alloc_tensor(ShapeExpr([count, *extents]), str(info.dtype), 0))
        for info in rows
        for extents in [info.shape.values[1:] if in_batches else info.shape.values]
    ]
    # the number of turns as a tensor, which the last turn compares with
    limit = bb.emit(op.reshape(bb.emit(op.shape_to_tensor(ShapeExpr([count]))), ()))

    def test(now: Exprs, around: Exprs) -> RelaxExpr:
        return op.less(now[0], around[0])

    def turn(now: Exprs, around: Exprs) -> Exprs:
        number, before, made = now[0], now[1 : states + 1], now[states + 1 :]
        along = around[1 : len(scanned) + 1]
        if in_batches:
            slices: Exprs = [read_batch(bb, v, number, *way) for v, way in zip(along, ways)]
        else:
            slices = [bb.emit(op.take(value, number, 0)) for value in along]
        after, items = body(before, slices, around[len(scanned) + 1 :])
        filled = [
            written(bb, row, bb.normalize_argument(item), number) for row, item in zip(made, items)
        ]
        return [op.add(number, Constant(np.asarray(1, "int64"))), *after, *filled]

    first = Constant(np.asarray(0, "int64"))
    given = [limit, *scanned, *outer]
    found = while_loop(bb, [first, *state, *room], given, test, turn, symbols)
    return found[1 : states + 1], found[states + 1 :]


def told(bb: BlockBuilder, values: Exprs, symbols: Sequence[tir.Var]) -> list[RelaxExpr]:
    """A shape of the symbols that no extent of the values tells by itself."""
    used = list(symbols)
    alone: set[PrimExpr] = set()
    for value in values:
        used += tir_vars_in_struct_info(value.struct_info)
        shape = getattr(value.struct_info, "shape", None)
        if isinstance(shape, ShapeExpr):
            alone.update(shape.values)
    missing = [symbol for symbol in dict.fromkeys(used) if symbol not in alone]
    return [bb.normalize_argument(ShapeExpr(missing))] if missing else []


def _check_kept(before: Exprs, after: Exprs) -> None:
    for old, new in zip(before, after):
        a, b = old.struct_info, new.struct_info
        if a.dtype != b.dtype or a.ndim != b.ndim:
            raise ValueError(
                message("a turn of a loop", found=f"{a}, then {b}", legal="state that stays alike")
            )


def repeated(
    bb: BlockBuilder,
    name: str,
    params: list[Var],
    states: int,
    result: TupleStructInfo,
    turn: Callable[[list[Var]], list[RelaxExpr]],
) -> GlobalVar:
    """A function `(go, params...)` that gives `go` and the first `states` parameters, at its end.

    `turn` emits what one turn does, and gives what the function is called with next.
    """
    go = Var("go", TensorStructInfo((), "bool"))
    every = [go, *params]
    own = bb.new_global_var(name)
    own.struct_info_ = FuncStructInfo([param.struct_info for param in every], result)
    with bb.aside():
        bb.begin_scope(every)
        bb.begin_binding_block()
        more = branch(bb, lambda: Call(own, turn(params)))
        ends = branch(bb, lambda: Tuple([go, *params[:states]]))
        out = bb.emit(If(go, more, ends))
        made = bb.normalize(SeqExpr([bb.end_block()], out))
        bb.end_scope()
        bb.update_func(own, copy_with_new_vars(Function(every, made, result, True)))
    return own


def branch(bb: BlockBuilder, make: Callable[[], RelaxExpr]) -> SeqExpr:
    """What `make` emits and gives, as a branch."""
    bb.begin_scope(None)
    bb.begin_binding_block()
    try:
        result = bb.emit(make())
    finally:
        block = bb.end_block()
        bb.end_scope()
    return SeqExpr([block], result)


def read_batch(
    bb: BlockBuilder, rows: RelaxExpr, number: RelaxExpr, every: int = 1, count: int = 0
) -> RelaxExpr:
    """`rows[i : i + 1]` for `i = number // every % count`, without the last where `count` is 0.

    Nothing writes into it: native code reads it in place.
    """
    info = rows.struct_info
    assert isinstance(info, TensorStructInfo), "rows are a tensor"
    kernel = bb.add_func(_row_kernel(info, ROW_READ, (every, count), batch=True), "read_row")
    item = TensorStructInfo([1, *info.shape.values[1:]], info.dtype)  # type: ignore[union-attr]
    return bb.emit(op.call_tir(kernel, [rows, number], item))


def written_row(
    bb: BlockBuilder, rows: RelaxExpr, item: RelaxExpr, number: RelaxExpr, first: int = 0
) -> RelaxExpr:
    """The rows with one of them written, in place: `rows[number - first] = item`.

    Native code makes the item there, where it can.
    """
    return _written(bb, rows, item, number, first, batch=False)


def written_batch(
    bb: BlockBuilder, rows: RelaxExpr, item: RelaxExpr, number: RelaxExpr
) -> RelaxExpr:
    """As `written_row`, of an item that has a first axis of extent 1."""
    return _written(bb, rows, item, number, 0, batch=True)


def _written(
    bb: BlockBuilder, rows: RelaxExpr, item: RelaxExpr, number: RelaxExpr, first: int, *,
    batch: bool,
) -> RelaxExpr:  # fmt: skip
    info = rows.struct_info
    assert isinstance(info, TensorStructInfo), "rows are a tensor"
    kernel = bb.add_func(_row_kernel(info, ROW_WRITTEN, (first,), batch=batch), "write_row")
    return bb.emit(op.call_tir_inplace(kernel, [rows, item, number], [0], info))


def _row_kernel(
    info: TensorStructInfo, kind: str, way: tuple[int, ...], *, batch: bool
) -> tir.PrimFunc:
    """A copy of a row, in the form that the attribute `kind` tells."""
    extents = info.shape.values[1:]  # type: ignore[union-attr]
    symbols = [e if isinstance(e, tir.IntImm) else tir.SizeVar("n", "int64") for e in extents]
    zero = tir.const(0, "int64")
    count = tir.SizeVar("count", "int64")
    rows = tir.decl_buffer([count, *symbols], info.dtype, "rows")
    one = [tir.const(1, "int64")] if batch else []
    item = tir.decl_buffer([*one, *symbols], info.dtype, "item")
    number = tir.decl_buffer([], "int64", "number")
    loops = [tir.Var(f"i{k}", "int64") for k in range(len(symbols))]
    at = [row_index(tir.BufferLoad(number, []), kind, way), *loops]
    own = [zero, *loops] if batch else loops
    if kind == ROW_READ:
        body: tir.Stmt = tir.BufferStore(item, tir.BufferLoad(rows, at), own)
    else:
        body = tir.BufferStore(rows, tir.BufferLoad(item, own), at)
    for loop, extent in zip(reversed(loops), reversed(symbols)):
        body = tir.For(loop, zero, extent, tir.ForKind.SERIAL, body)
    order = (rows, number, item) if kind == ROW_READ else (rows, item, number)
    params = [tir.Var(f"{buffer.name}_handle", "handle") for buffer in order]
    attrs = {"tir.is_scheduled": True, kind: list(way)}
    return tir.PrimFunc(params, body, None, dict(zip(params, order)), attrs)


def row_index(number: PrimExpr, kind: str, way: Sequence[int]) -> PrimExpr:
    """Which row a kernel copies, by the number that it is given."""
    if kind == ROW_WRITTEN:
        return number - tir.const(way[0], "int64")
    every, count = way
    index = number if every == 1 else tir.floordiv(number, tir.const(every, "int64"))
    return tir.floormod(index, tir.const(count, "int64")) if count else index
