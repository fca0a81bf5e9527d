"""Rows that a loop reads and writes in tensors around it: where they lie, instead of copies.

    item = call_tir(read_row, (x, number))            item is x + number * bytes
    made = call_tir(f, (item,))                ->     f(item, rows + number * bytes)
    rows = call_tir_inplace(write_row, (rows, made, number), [0])

What a kernel makes for a row that is written later is made there, if nothing else of the sequence
sees the tensor of the rows before it is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.relax.expr import Call, SeqExpr, Tuple, TupleGetItem, Var, is_call_of
from tvm.relax.final_binding import bindings_within
from tvm.relax.loops import ROW_READ, ROW_WRITTEN
from tvm.relax.transform.rebuild import vars_needed
from tvm.tir.function import PrimFunc


class RowCopy(NamedTuple):
    """A call that copies a row, which `row_index` tells by its kind and way."""

    kind: str
    way: tuple[int, ...]
    rows: RelaxExpr
    number: RelaxExpr
    item: RelaxExpr | None

    @property
    def written(self) -> bool:
        return self.kind == ROW_WRITTEN


def row_copy(mod: IRModule, value: RelaxExpr) -> RowCopy | None:
    """What a call of a kernel that copies a row copies; None for any other value."""
    if not is_call_of(value, "relax.call_tir", "relax.call_tir_inplace"):
        return None
    assert isinstance(value, Call), "just looked"
    callee, operands = value.args[0], value.args[1]
    kernel = mod.functions.get(callee) if isinstance(callee, GlobalVar) else None
    if not isinstance(kernel, PrimFunc) or not isinstance(operands, Tuple):
        return None
    for kind in (ROW_READ, ROW_WRITTEN):
        way = kernel.attrs.get(kind)
        if isinstance(way, (list, tuple)):
            parts, numbers = operands.fields, tuple(map(int, way))
            item = parts[1] if kind == ROW_WRITTEN else None
            return RowCopy(kind, numbers, parts[0], parts[-1], item)
    return None


def written_rows(mod: IRModule, seq: SeqExpr) -> Iterator[RowCopy]:
    """The rows that a sequence writes into tensors which it uses for nothing else."""
    copies = [
        copy
        for block in seq.blocks
        for binding in block.bindings
        if (copy := row_copy(mod, binding.value)) is not None and copy.written
    ]
    if not copies:
        return
    used = [var for binding in bindings_within(seq) for var in vars_needed(binding.value)]
    yield from (copy for copy in copies if sum(var is copy.rows for var in used) == 1)


def maker(values: Mapping[Var, RelaxExpr], expr: RelaxExpr | None) -> tuple[Var, int] | None:
    """Which result of which bound call a value is, seen through names and views."""
    index = 0
    while True:
        if isinstance(expr, TupleGetItem):
            index = expr.index
            expr = expr.tuple_value
        value = values.get(expr) if isinstance(expr, Var) else None
        if isinstance(value, Tuple):
            expr = value.fields[index]
            index = 0
        elif isinstance(value, (Var, TupleGetItem)):
            expr = value
        elif is_call_of(value, "relax.reshape"):
            assert isinstance(value, Call), "just looked"
            expr = value.args[0]
        else:
            assert value is None or isinstance(expr, Var), "only variables have values"
            return (expr, index) if isinstance(value, Call) and isinstance(expr, Var) else None
