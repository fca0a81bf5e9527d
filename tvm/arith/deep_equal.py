"""Whether two expressions are written alike, and numbers that are equal exactly then.

Variables are compared by identity. Both walk with an explicit stack, so long sums are no problem.
"""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir.functor import expr_children

# Kinds whose two operands `a` and `b` say everything.
PAIRS: Final[frozenset[type]] = frozenset(
    (e.Add, e.Sub, e.Mul, e.Div, e.Mod, e.FloorDiv, e.FloorMod, e.Min, e.Max, e.EQ, e.NE, e.LT,
     e.LE, e.GT, e.GE, e.And, e.Or)
)  # fmt: skip


def deep_equal(lhs: PrimExpr, rhs: PrimExpr) -> bool:
    """True when the two are the same tree over the same variables and buffers."""
    if lhs is rhs:
        return True
    kind = type(lhs)
    if kind is not type(rhs) or kind is e.Var or kind is e.SizeVar:
        return False
    if kind is e.IntImm:
        return lhs.value == rhs.value and lhs.dtype is rhs.dtype  # type: ignore[attr-defined]
    return _equal_trees(lhs, rhs)


def _equal_trees(lhs: PrimExpr, rhs: PrimExpr) -> bool:
    stack: list[tuple[PrimExpr, PrimExpr]] = [(lhs, rhs)]
    while stack:
        a, b = stack.pop()
        if a is b:
            continue
        kind = type(a)
        if kind is not type(b):
            return False
        if kind in PAIRS:
            stack.append((a.a, b.a))  # type: ignore[attr-defined]
            stack.append((a.b, b.b))  # type: ignore[attr-defined]
        elif _own_part(a) != _own_part(b):
            return False
        else:
            below_a, below_b = expr_children(a), expr_children(b)
            if len(below_a) != len(below_b):
                return False
            stack.extend(zip(below_a, below_b))
    return True


def _own_part(expr: PrimExpr) -> tuple[object, ...]:
    """What an expression says beyond its kind and its sub-expressions; hashable."""
    if isinstance(expr, e.Var):
        return (id(expr),)
    if isinstance(expr, e.ConstExpr):
        value = expr.value  # type: ignore[attr-defined]
        # a float is told apart by its text: 0.0 from -0.0, and NaN equals itself
        return (expr.dtype, repr(value) if isinstance(value, float) else value)
    if isinstance(expr, e.BufferLoad):
        return (id(expr.buffer), expr.predicate is None)
    if isinstance(expr, e.Call):
        others = tuple([id(arg) for arg in expr.args if not isinstance(arg, PrimExpr)])
        return (expr.dtype, id(expr.op), *others)
    if isinstance(expr, e.Let):
        return (id(expr.var),)
    if isinstance(expr, e.ProducerLoad):
        return (id(expr.producer),)
    if isinstance(expr, e.Shuffle):
        return (len(expr.vectors),)
    if isinstance(expr, e.Reduce):
        axes = tuple([id(axis) for axis in expr.axis])
        return (id(expr.combiner), axes, expr.value_index, len(expr.source), len(expr.init))
    if isinstance(expr, (e.Cast, e.Ramp, e.Broadcast, e.Not, e.Select)) or type(expr) in PAIRS:
        return (expr.dtype,)
    return (id(expr),)


class ExprNumbers:
    """Gives each expression a number; two get the same one when they are `deep_equal`.

    x - 3 and x + -3, which rules and normal forms write, have one number.
    """

    __slots__ = ("_by_id", "_by_shape", "_first", "_kept")

    def __init__(self) -> None:
        self._by_id: dict[int, int] = {}
        self._first: list[PrimExpr] = []  # an expression for each number
        self._by_shape: dict[tuple[object, ...], int] = {}
        self._kept: list[PrimExpr] = []  # an id is only good as long as its object lives

    def number(self, expr: PrimExpr) -> int:
        """The number of `expr`."""
        known = self._by_id.get(id(expr))
        if known is not None:
            return known
        if type(expr) is e.Var:  # a class of its own, and the most frequent leaf
            found = len(self._first)
            self._first.append(expr)
            self._kept.append(expr)
            self._by_id[id(expr)] = found
            return found
        by_id = self._by_id
        if type(expr) in PAIRS:  # mostly of operands that have theirs
            a, b = expr.a, expr.b  # type: ignore[attr-defined]
            if id(a) in by_id and id(b) in by_id:
                return self._enter(expr, (a, b))
        elif type(expr) is e.IntImm:
            return self._enter(expr, ())
        stack: list[tuple[PrimExpr, bool]] = [(expr, False)]
        while stack:
            node, entered = stack.pop()
            if id(node) in by_id:
                continue
            if type(node) in PAIRS:
                below: tuple[PrimExpr, ...] = (node.a, node.b)  # type: ignore[attr-defined]
            else:
                below = expr_children(node)
            if entered or not below:
                self._enter(node, below)
            else:
                stack.append((node, True))
                stack.extend([(child, False) for child in below])
        return by_id[id(expr)]

    def _enter(self, node: PrimExpr, below: tuple[PrimExpr, ...]) -> int:
        by_id = self._by_id
        kind: type = type(node)
        less = below[1] if kind is e.Sub else None
        if type(less) is e.IntImm and less.dtype.is_int and less.value > 0:
            kind, below = e.Add, (below[0], e.IntImm(less.dtype, -less.value))
            self._enter(below[1], ())
        shape: tuple[object, ...]
        if kind in PAIRS:
            shape = (kind, by_id[id(below[0])], by_id[id(below[1])])
        elif kind is e.IntImm:
            shape = (kind, node.dtype, node.value)  # type: ignore[attr-defined]
        else:
            shape = (kind, _own_part(node), *[by_id[id(child)] for child in below])
        self._kept.append(node)
        found = self._by_shape.get(shape)
        if found is None:
            found = len(self._first)
            self._by_shape[shape] = found
            self._first.append(node)
        by_id[id(node)] = found
        return found

    def expr(self, number: int) -> PrimExpr:
        """An expression with this number."""
        return self._first[number]

    def clear(self) -> None:
        """Forget all numbers; those handed out before mean nothing from now on."""
        self._by_id.clear()
        self._by_shape.clear()
        self._first.clear()
        self._kept.clear()

    def __len__(self) -> int:
        return len(self._kept)
