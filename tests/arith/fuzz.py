"""Random integer expressions, and their value under the meaning of `tir.scalar`."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping

from tvm.ir import Range
from tvm.tir import expr as e
from tvm.tir import scalar

BINARY = (e.Add, e.Sub, e.Mul, e.FloorDiv, e.FloorMod, e.Div, e.Mod, e.Min, e.Max)
COMPARE = (e.EQ, e.NE, e.LT, e.LE, e.GT, e.GE)
NAMES = {
    e.Add: "add", e.Sub: "sub", e.Mul: "mul", e.Div: "div", e.Mod: "mod", e.FloorDiv: "floordiv",
    e.FloorMod: "floormod", e.Min: "min", e.Max: "max", e.EQ: "eq", e.NE: "ne", e.LT: "lt",
    e.LE: "le", e.GT: "gt", e.GE: "ge",
}  # fmt: skip


class Undefined(Exception):
    """The expression has no value here: it divides by zero."""


def evaluate(expr, values: Mapping) -> int:
    """The value of an expression; both sides of a Select must have one."""
    if isinstance(expr, e.IntImm):
        return int(expr.value)
    if isinstance(expr, e.Var):
        return values[expr]
    if type(expr) in NAMES:
        a, b = evaluate(expr.a, values), evaluate(expr.b, values)
        found = scalar.binary(NAMES[type(expr)], a, b, expr.a.dtype)
        if found is None:
            raise Undefined
        return int(found)
    if isinstance(expr, e.And):
        return int(bool(evaluate(expr.a, values)) and bool(evaluate(expr.b, values)))
    if isinstance(expr, e.Or):
        return int(bool(evaluate(expr.a, values)) or bool(evaluate(expr.b, values)))
    if isinstance(expr, e.Not):
        return int(not evaluate(expr.a, values))
    if isinstance(expr, e.Select):
        chosen = bool(evaluate(expr.condition, values))
        both = evaluate(expr.true_value, values), evaluate(expr.false_value, values)
        return both[0] if chosen else both[1]
    if isinstance(expr, e.Cast):
        found = scalar.cast(evaluate(expr.value, values), expr.value.dtype, expr.dtype)
        return int(found)
    raise TypeError(f"no value for {type(expr).__name__}")


class Source:
    """A stream of random expressions over a few variables with small ranges."""

    def __init__(self, seed: int, variables: int = 3, dtype: str = "int32") -> None:
        self.random = random.Random(seed)
        self.dtype = dtype
        self.variables = [e.Var("xyzw"[i], dtype) for i in range(variables)]

    def ranges(self) -> dict[e.Var, Range]:
        """A small range for each variable; half of them start at zero."""
        found = {}
        for var in self.variables:
            low = self.random.choice((0, 0, 0, -4, -3, 1, 5))
            found[var] = Range.from_min_extent(
                e.IntImm(self.dtype, low), e.IntImm(self.dtype, self.random.randint(1, 7))
            )
        return found

    def literal(self) -> e.IntImm:
        values = (0, 1, 1, 2, 2, 3, 4, 4, 6, 8, -1, -2, -3, 5, 12)
        return e.IntImm(self.dtype, self.random.choice(values))

    def integer(self, depth: int):
        """An expression of the source's type."""
        pick = self.random.random()
        if depth == 0 or pick < 0.12:
            if self.random.random() < 0.35:
                return self.literal()
            return self.random.choice(self.variables)
        if pick < 0.19:
            yes, no = self.integer(depth - 1), self.integer(depth - 1)
            return e.Select(self.boolean(depth - 1), yes, no)
        kind = self.random.choice(BINARY)
        a = self.integer(depth - 1)
        if kind in (e.FloorDiv, e.FloorMod, e.Div, e.Mod) and self.random.random() < 0.85:
            b = self.literal()
            while b.value == 0:
                b = self.literal()
        elif kind is e.Mul and self.random.random() < 0.7:
            b = self.literal()
        else:
            b = self.integer(depth - 1)
        return kind(a, b)

    def boolean(self, depth: int):
        """A condition."""
        pick = self.random.random()
        if depth > 0 and pick < 0.3:
            kind = self.random.choice((e.And, e.Or))
            return kind(self.boolean(depth - 1), self.boolean(depth - 1))
        if depth > 0 and pick < 0.38:
            return e.Not(self.boolean(depth - 1))
        return self.random.choice(COMPARE)(self.integer(depth), self.integer(depth))


def points(ranges: Mapping[e.Var, Range]) -> Iterator[dict[e.Var, int]]:
    """All values that the variables take together."""
    spans = [range(int(r.min), int(r.min) + int(r.extent)) for r in ranges.values()]
    for values in itertools.product(*spans):
        yield dict(zip(ranges, values))
