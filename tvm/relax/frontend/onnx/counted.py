"""What a turn of a loop tells that is made aside: state that stays, state that counts, the end.

A `while` that others wrote down as a Loop carries what it reads as state: weights, its counter, the
number it counts up to. What no turn changes is known as well within the loop as before it, a
counter follows from the number of the turn, and a condition that compares the counter with what
stays tells how many turns there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tvm import tir
from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Constant, Var
from tvm.relax.struct_info import TensorStructInfo
from tvm.tir.analysis import undefined_vars
from tvm.tir.expr import IntImm

from .known_values import Array
from .scope import Ref, Scope


@dataclass(frozen=True)
class Counter:
    """State that is `start` in the first turn made, and `step` more in each that follows."""

    start: Any
    step: int
    shape: tuple[int, ...]
    dtype: str

    def after(self, turns: PrimExpr) -> Array:
        """The value after so many turns."""
        value = np.empty((), object)
        value[()] = tir.const(0, "int64") + self.start + turns * self.step
        return value.reshape(self.shape)

    def made(self, bb: BlockBuilder, turns: RelaxExpr) -> RelaxExpr:
        """The same as a tensor, for a start that is a number."""
        value = op.multiply(turns, Constant(np.asarray(self.step, np.int64)))
        value = op.add(value, Constant(np.asarray(self.start, np.int64)))
        return bb.emit(op.reshape(op.astype(value, self.dtype), self.shape))


@dataclass
class Roles:
    """The state that a loop need not carry, by its place."""

    stays: dict[int, Ref] = field(default_factory=dict)
    counters: dict[int, Counter] = field(default_factory=dict)

    def is_carried(self, place: int) -> bool:
        """Whether turns hand this state on."""
        return place not in self.stays and place not in self.counters


class Probe:
    """Stands for state in a turn that is made aside: a variable, and a symbol if it may count."""

    def __init__(self, before: Ref, info: Any) -> None:
        self.before = before
        self.info = info
        self.var = Var("state", info)
        self.ref = Ref.to(self.var)
        self.symbol: tir.Var | None = None
        shape = _single(info)
        if shape is None or str(info.dtype) not in ("int32", "int64"):
            return
        self.symbol = tir.Var("counter", "int64")
        known = np.empty((), object)
        known[()] = self.symbol
        self.ref.scope.known.set("", known.reshape(shape), str(info.dtype))

    def stays(self, after: Ref) -> bool:
        """Whether the turn leaves it as it is."""
        return after.scope.made(after.name) is self.var or self._step(after) == 0

    def counter(self, after: Ref) -> Counter | None:
        """How the turn counts with it."""
        step, known = self._step(after), self.before.known
        if not step or known is None:
            return None
        shape = _single(self.info)
        assert shape is not None, "what counts is one number"
        start = known.reshape(-1)[0]
        start = start if isinstance(start, PrimExpr) else int(start)
        return Counter(start, step, shape, str(self.info.dtype))

    def _step(self, after: Ref) -> int | None:
        known = after.known
        if self.symbol is None or known is None or known.dtype != object or known.size != 1:
            return None
        if known.shape != _single(self.info):
            return None
        step = Analyzer().simplify(known.reshape(-1)[0] - self.symbol)
        return step.value if isinstance(step, IntImm) else None


def outside(ref: Ref, name: str, around: Scope) -> Ref:
    """A value from outside a loop as its body may read it: known, constant, or by this name."""
    typed = ref.scope.known.typed(ref.name)
    value = ref.scope.made(ref.name)
    if isinstance(value, Constant):
        found = Ref.to(value)
    elif typed is None:
        return Ref(around, name)
    else:
        found = Ref(Scope({}), "")
    if typed is not None:
        found.scope.known.set("", *typed)
    return found


def is_inside(ref: Ref) -> bool:
    """Whether the body can have the value without being handed it."""
    return ref.known is not None or isinstance(ref.scope.made(ref.name), Constant)


def limit_of(go_on: Ref | None, turn: tir.Var, number: int, first: Ref | None) -> PrimExpr | None:
    """The turns end with this number, if a condition that is tested in each says just that.

    `first` is the condition before turn `number`: it must say the same.
    """
    known = None if go_on is None else go_on.known
    if known is None or known.dtype != object or known.size != 1:
        return None
    limits = [_limit(one, turn) for one in _conjuncts(known.reshape(-1)[0])]
    if any(limit is None for limit in limits):
        return None
    limit = limits[0]
    analyzer = Analyzer()
    for other in limits[1:]:
        limit = analyzer.simplify(tir.min(limit, other))
    begins = None if first is None else first.known
    if first is not None and (begins is None or begins.size != 1):
        return None
    number_expr = tir.const(number, "int64")
    starts = True if begins is None else begins.reshape(-1)[0]
    if not isinstance(starts, PrimExpr):
        starts = tir.const(bool(starts), "bool")
    told = tir.all(*_conjuncts(starts))
    with analyzer.constraint_scope(told):
        if not analyzer.can_prove(number_expr < limit):
            return None
    with analyzer.constraint_scope(Analyzer().simplify(tir.Not(told))):
        return limit if analyzer.can_prove(number_expr >= limit) else None


def _limit(condition: PrimExpr, turn: tir.Var) -> PrimExpr | None:
    """The first turn that is not made, where turns go on as long as the condition holds."""
    if not isinstance(condition, (tir.LT, tir.LE)):
        return None
    # turn < rest, seen in the turn before
    one = 1 if isinstance(condition, tir.LT) else 2
    rest = Analyzer().simplify(condition.b - condition.a + turn + one)
    return None if turn in undefined_vars(rest) else rest


def _conjuncts(condition: PrimExpr) -> list[PrimExpr]:
    """What holds together, as comparisons of whole numbers: sizes that floats hold are exact."""
    todo, found = [condition], list[PrimExpr]()
    while todo:
        one = todo.pop()
        if isinstance(one, tir.And):
            todo += [one.a, one.b]
        elif isinstance(one, (tir.GT, tir.GE)):
            swapped = tir.LT if isinstance(one, tir.GT) else tir.LE
            todo.append(swapped(one.b, one.a))
        elif isinstance(one, (tir.LT, tir.LE)):
            a, b = _whole(one.a), _whole(one.b)
            found.append(one if a is None or b is None else type(one)(a, b))
        else:
            found.append(one)
    return found


def _whole(value: PrimExpr) -> PrimExpr | None:
    """A whole number that is written as a float or another type, as int64."""
    while isinstance(value, tir.Cast) and not str(value.value.dtype).startswith("float"):
        value = value.value
    if isinstance(value, tir.FloatImm) and float(value.value).is_integer():
        return tir.const(int(value.value), "int64")
    if not str(value.dtype).startswith("int"):
        return None
    return value if str(value.dtype) == "int64" else tir.Cast("int64", value)


def _single(info: Any) -> tuple[int, ...] | None:
    """The shape of a tensor of one element."""
    if not isinstance(info, TensorStructInfo) or info.shape is None:
        return None
    extents: Sequence[Any] = info.shape.values  # type: ignore[attr-defined]
    return (1,) * len(extents) if all(_is_one(extent) for extent in extents) else None


def _is_one(extent: Any) -> bool:
    return isinstance(extent, IntImm) and extent.value == 1
