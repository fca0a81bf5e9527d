"""The blocks beside a kernel that it takes along: the padding that it reads, the epilogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.tir.buffer import Buffer
from tvm.tir.expr import (
    LE,
    LT,
    BufferLoad,
    Call,
    FloorDiv,
    FloorMod,
    IntImm,
    IterVar,
    Var,
    make_const,
)
from tvm.tir.functor import vars_in, walk
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.stmt import Block, BufferStore

from .access import has_size, is_unconditional, params_of, size_of
from .planes import is_choice


@dataclass(frozen=True)
class Epilogue:
    """The block that reads a result, and its variables in terms of the convolution's."""

    block: BlockRV
    variables: Mapping[Var, PrimExpr]


def epilogue_of(
    sch: Schedule, block: BlockRV, output: Buffer, store: Sequence[PrimExpr]
) -> Epilogue | None:
    """The one block that reads the result element by element; None if there is none."""
    users = sch.get_consumers(block)
    if len(users) != 1 or output in params_of(sch):
        return None
    node: Block = sch.get(users[0])
    if not isinstance(node.body, BufferStore) or node.init is not None:
        return None
    if not is_unconditional(sch, users[0]):
        return None
    loads = [n for n in walk(node.body) if isinstance(n, BufferLoad) and n.buffer is output]
    variables: dict[Var, PrimExpr] = {}
    parts: dict[Var, dict[type, tuple[int, PrimExpr]]] = {}
    for load in loads:
        for index, own in zip(load.indices, store):
            part = index.a if isinstance(index, (FloorDiv, FloorMod)) else index
            if isinstance(index, Var):
                if variables.setdefault(index, own) is not own:
                    return None
            elif isinstance(part, Var) and isinstance(index.b, IntImm):  # type: ignore[attr-defined]
                given = parts.setdefault(part, {})
                if given.setdefault(type(index), (index.b.value, own))[1] is not own:  # type: ignore[attr-defined]
                    return None
            elif not isinstance(index, IntImm):
                return None
    for var, both in parts.items():
        if set(both) != {FloorDiv, FloorMod} or var in variables:
            return None
        (size, high), (other, low) = both[FloorDiv], both[FloorMod]
        if size != other:
            return None
        variables[var] = high * size + low
    same = Analyzer()
    sizes = {iv.var: size_of(iv) for iv in sch.get(block).iter_vars}
    for iv in node.iter_vars:
        if iv.iter_type != IterVar.DataPar:
            return None
        if iv.var not in variables:
            if not has_size(iv, 1):
                return None
            variables[iv.var] = make_const(0, iv.var.dtype)
            continue
        value = variables[iv.var]
        if isinstance(value, Var) and not same.can_prove_equal(sizes[value], size_of(iv)):
            return None
    used = [n for value in variables.values() for n in vars_in(value)]
    wide = {iv.var for iv in sch.get(block).iter_vars
            if iv.var in store and not has_size(iv, 1)}  # fmt: skip
    if len(set(used)) != len(used) or not wide <= set(used):
        return None
    return Epilogue(users[0], variables)


def padding_of(sch: Schedule, block: BlockRV, plane: Buffer) -> BlockRV | None:
    """The block that makes a border around what the convolution alone reads; None without."""
    if plane in params_of(sch):
        return None
    for producer in sch.get_producers(block):
        node: Block = sch.get(producer)
        if node.writes[0].buffer is not plane or len(sch.get_consumers(producer)) != 1:
            continue
        if not is_unconditional(sch, producer):
            return None
        store = node.body
        if not isinstance(store, BufferStore) or not is_choice(store.value):
            return None
        assert isinstance(store.value, Call), "a choice is one"
        names = [iv.var for iv in node.iter_vars]
        if list(store.indices) != names or not isinstance(store.value.args[1], BufferLoad):
            return None
        return producer
    return None


def is_border(term: PrimExpr, load: BufferLoad, dim: int) -> bool:
    """Whether a condition says that an index is not too small, or not too large."""
    index, size = load.indices[dim], load.buffer.shape[dim]
    if not isinstance(term, LE | LT):
        return False
    room = term.b - term.a if isinstance(term, LE) else term.b - term.a - 1  # zero or more
    same = Analyzer()
    return same.can_prove_equal(room, index) or same.can_prove_equal(room, size - 1 - index)
