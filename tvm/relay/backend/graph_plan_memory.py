"""Which storage holds the values between the kernels of a graph.

    exp -> exp -> exp -> exp      ->      two storages in turn, beside those of inputs

A storage is free again after the last kernel that reads it, and is taken by a later value that is
up to sixteen times smaller or larger; it grows if it must. Inputs, constants and results keep
theirs. A kernel that only gives other extents shares the storage of its operand.
"""

from __future__ import annotations

from collections.abc import Collection
from math import prod
from typing import Any, Final

from tvm.ir.expr import RelaxExpr
from tvm.ir.op import Op
from tvm.ir.type import TupleType
from tvm.relay.expr import Call, Constant, Tuple, TupleGetItem, Var
from tvm.relay.function import Function
from tvm.relay.op.relations import extents
from tvm.relay.storage import StaticMemoryPlan, StorageInfo
from tvm.relay.traverse import post_order
from tvm.support.dtype import DataType
from tvm.target.virtual_device import VirtualDevice

MATCH_RANGE: Final = 16


class _Storage:
    """A block of memory: its number, bytes now and at first, and how many reads are to come."""

    __slots__ = ("bytes", "first", "number", "reads")

    def __init__(self, number: int, size: int, reads: int) -> None:
        self.number = number
        self.bytes = self.first = size
        self.reads = reads


def GraphPlanMemory(func: Function) -> StaticMemoryPlan:
    """The storages of all values of a function whose calls are functions still.

    Reshapes have storages of their own: only their kernels are known to move nothing.
    """
    return _Planner(func, outside_kernels(func), lowered=False).plan()


def planned(func: Function, order: list[RelaxExpr]) -> StaticMemoryPlan:
    """The storages of a graph of kernels, whose expressions come in an order."""
    return _Planner(func, order, lowered=True).plan()


def flat_types(found: Any) -> list[Any]:
    """The tensors of a type."""
    if isinstance(found, TupleType):
        return [tensor for field in found.fields for tensor in flat_types(field)]
    return [found]


def size_in_bytes(found: Any) -> int:
    """The bytes of a tensor; extents that may be any count as one."""
    counts = [extent if isinstance(extent, int) else 1 for extent in extents(found)]
    return prod(counts) * ((DataType(str(found.dtype)).bits + 7) // 8)


def outside_kernels(func: Function, late: Collection[str] = ()) -> list[RelaxExpr]:
    """The expressions of a function; those inside of the functions that it calls are theirs.

    Parameters come first, but those named in `late` where they are read.
    """
    inside = {
        id(part) for e in post_order(func) if isinstance(e, Function) and e is not func
        for part in post_order(e)
    }  # fmt: skip
    skip = (Function, Op)
    first = [param for param in func.params if param.name_hint not in late]
    return [
        e for e in post_order(*first, func.body, func)
        if id(e) not in inside and not isinstance(e, skip)
    ]  # fmt: skip


def is_reshape_only(call: Call) -> bool:
    """Whether a kernel moves nothing: its operand has other extents afterwards."""
    return isinstance(call.op, Function) and "relay.reshape_only" in call.op.attrs


class _Planner:
    def __init__(self, func: Function, order: list[RelaxExpr], lowered: bool) -> None:
        self.func = func
        self.lowered = lowered
        self.order = order
        self.held: dict[int, list[_Storage]] = {}
        self.all: list[_Storage] = []
        self.free: list[_Storage] = []
        self.reads: dict[int, list[int]] = {}

    def plan(self) -> StaticMemoryPlan:
        self._count_reads()
        for expr in self.order:
            if id(expr) not in self.held:
                self._visit(expr)
        return StaticMemoryPlan({e: self._info(e) for e in self.order if id(e) in self.held})

    def _count_reads(self) -> None:
        """How often each tensor of an expression is read, users of tuples looked through."""
        for expr in (*self.func.params, *self.order):
            self.reads.setdefault(id(expr), [0] * len(flat_types(_type(expr))))
        for expr in reversed(self.order):
            self._pass_on(expr)
        for at in range(len(self.reads[id(self.func.body)])):
            self._read(self.func.body, at)

    def _pass_on(self, expr: RelaxExpr) -> None:
        if isinstance(expr, Call):
            for arg in expr.args:
                for at in range(len(self.reads.get(id(arg), []))):
                    self._read(arg, at)

    def _read(self, expr: RelaxExpr, at: int) -> None:
        while isinstance(expr, (Tuple, TupleGetItem)):
            expr, at = _source(expr, at)
        if id(expr) in self.reads:
            self.reads[id(expr)][at] += 1

    def _keep(self, expr: RelaxExpr) -> None:
        """A storage of its own, which is read once more than the program does."""
        kinds = flat_types(_type(expr))
        self.held[id(expr)] = [self._new(size_in_bytes(kind), 1 << 30) for kind in kinds]

    def _new(self, size: int, reads: int) -> _Storage:
        made = _Storage(len(self.all), size, reads)
        self.all.append(made)
        return made

    def _visit(self, expr: RelaxExpr) -> None:
        if isinstance(expr, (Var, Constant)):
            self._keep(expr)
        elif isinstance(expr, Tuple):
            self.held[id(expr)] = [s for field in expr.fields for s in self.held[id(field)]]
        elif isinstance(expr, TupleGetItem):
            begin, count = _range(expr)
            self.held[id(expr)] = self.held[id(expr.tuple_value)][begin : begin + count]
        elif isinstance(expr, Call):
            self._call(expr)

    def _call(self, call: Call) -> None:
        given = [s for arg in call.args for s in self.held.get(id(arg), [])]
        reads = self.reads[id(call)]
        if self.lowered and is_reshape_only(call):
            given[0].reads += reads[0]
            self.held[id(call)] = [given[0]]
        else:
            kinds = flat_types(_type(call))
            self.held[id(call)] = [
                self._taken(size_in_bytes(k), count) for k, count in zip(kinds, reads)
            ]
        for storage in (*given, *(s for s in self.held[id(call)] if s.reads == 0)):
            self._release(storage)

    def _release(self, storage: _Storage) -> None:
        storage.reads -= 1
        if storage.reads <= 0 and storage not in self.free:
            self.free.append(storage)

    def _taken(self, size: int, reads: int) -> _Storage:
        """The smallest free storage that is large enough, else the largest, else a new one."""
        near = [s for s in self.free if size <= s.bytes * MATCH_RANGE]
        near = [s for s in near if s.bytes <= size * MATCH_RANGE]
        large = [s for s in near if s.bytes >= size]
        if not near:
            return self._new(size, reads)
        found = min(large, key=_bytes) if large else max(near, key=_bytes)
        self.free.remove(found)
        found.bytes, found.reads = max(found.bytes, size), reads
        return found

    def _info(self, expr: RelaxExpr) -> StorageInfo:
        held = self.held[id(expr)]
        device = VirtualDevice()
        return StorageInfo(
            [s.number for s in held], [device] * len(held), [s.first for s in held]
        )


def _bytes(storage: _Storage) -> int:
    return storage.bytes


def _type(expr: RelaxExpr) -> Any:
    return expr.checked_type_


def _range(item: TupleGetItem) -> tuple[int, int]:
    """Where the tensors of a field begin among those of its tuple, and how many they are."""
    counts = [len(flat_types(field)) for field in _type(item.tuple_value).fields]
    return sum(counts[: item.index]), counts[item.index]


def _source(expr: Tuple | TupleGetItem, at: int) -> tuple[RelaxExpr, int]:
    """The part of a tuple that has its tensor number `at`, and that tensor's number there."""
    if isinstance(expr, TupleGetItem):
        return expr.tuple_value, _range(expr)[0] + at
    for field in expr.fields:
        count = len(flat_types(_type(field)))
        if at < count:
            return field, at
        at -= count
    raise AssertionError("a tensor of a tuple belongs to one of its fields")


__all__ = [
    "GraphPlanMemory", "flat_types", "is_reshape_only", "outside_kernels", "planned",
    "size_in_bytes",
]  # fmt: skip
