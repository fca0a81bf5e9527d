"""The operator of a reduction: how partial results are combined, and what they start from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.tir.analysis.deep_equal import expr_deep_equal
from tvm.tir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BufferLoad,
    CmpExpr,
    CommReducer,
    Max,
    Min,
    Mul,
    Not,
    Or,
    Select,
    Var,
)
from tvm.tir.functor import StmtExprMutator, mutator, rewrite, walk
from tvm.tir.op.arith import (
    add,
    equal,
    is_one,
    is_zero,
    less,
    logical_and,
    logical_or,
    max_of,
    min_of,
    multiply,
)
from tvm.tir.stmt import Block, BufferStore, LetStmt, SeqStmt, Stmt

Combine = Callable[[PrimExpr, PrimExpr], PrimExpr]
CombineAll = Callable[[Sequence[PrimExpr], Sequence[PrimExpr]], list[PrimExpr]]
# Operators that may be applied to partial results in any order (floats: up to rounding).
_OPERATORS: Final[dict[type[PrimExpr], Combine]] = {
    Add: add, Mul: multiply, Max: max_of, Min: min_of, And: logical_and, Or: logical_or,
}  # fmt: skip
_GREATER: Final = (GE, GT)
_SMALLER: Final = (LE, LT)


class Reducer:
    """`combine(sums, parts)`; `parts` is what one run of the block contributes to each sum.

    `identities` are what the sums start from; `stores` say where each of them is kept.
    """

    __slots__ = ("combine", "identities", "parts", "stores")

    def __init__(
        self,
        combine: CombineAll,
        identities: Sequence[PrimExpr],
        parts: Sequence[PrimExpr],
        stores: Sequence[BufferStore],
    ) -> None:
        self.combine: Final = combine
        self.identities: Final = list(identities)
        self.parts: Final = list(parts)
        self.stores: Final = list(stores)

    def as_comm_reducer(self) -> CommReducer:
        """The same as a node: the result in terms of a variable for each operand."""
        left = [Var(f"x{n}", part.dtype) for n, part in enumerate(self.parts)]
        right = [Var(f"y{n}", part.dtype) for n, part in enumerate(self.parts)]
        return CommReducer(left, right, self.combine(left, right), self.identities)


def reducer_of(block: Block) -> Reducer | None:
    """The reducer of a block's update, if it is known to be commutative.

    Known are `C[i] = op(C[i], part)`, several of them side by side, and the greatest or least pair,
    where NaN may be beyond all numbers.
    """
    stores, values = _updates(block.body)
    starts = _starts(block.init, stores)
    if not starts:
        return None
    found = _side_by_side(stores, values, starts)
    if found is None and len(stores) == 2:
        found = _pair(stores, values, starts, 1) or _pair(stores, values, starts, 0)
    return found


def _updates(body: Stmt) -> tuple[list[BufferStore], list[PrimExpr]]:
    """The stores of a body and what they store; values of several are computed before all."""
    lets: dict[Var, PrimExpr] = {}
    stmt = body
    while isinstance(stmt, LetStmt):
        lets[stmt.var] = stmt.value
        stmt = stmt.body
    parts = stmt.seq if isinstance(stmt, SeqStmt) else (stmt,)
    stores = [part for part in parts if isinstance(part, BufferStore)]
    named = all(isinstance(s.value, Var) and s.value in lets for s in stores)
    if len(stores) != len(parts) or (lets and not named) or (len(stores) > 1 and not lets):
        return [], []
    return stores, [lets[s.value] if isinstance(s.value, Var) and lets else s.value for s in stores]


def _starts(init: Stmt | None, stores: Sequence[BufferStore]) -> list[PrimExpr] | None:
    """What the init stores to each element that is updated; None if it does anything else."""
    parts = init.seq if isinstance(init, SeqStmt) else (init,)
    if len(parts) != len(stores):
        return None
    found: list[PrimExpr] = []
    for store in stores:
        own = [p for p in parts if isinstance(p, BufferStore) and _is_own(_loaded(p), store)]
        if len(own) != 1 or own[0].value.dtype is not store.buffer.dtype:
            return None  # a mixed-up init
        if any(isinstance(node, (Var, BufferLoad)) for node in walk(own[0].value)):
            return None  # every partial sum starts so: it has to be one number for all
        found.append(own[0].value)
    return found


def _loaded(store: BufferStore) -> BufferLoad:
    return BufferLoad(store.buffer, store.indices)


def _side_by_side(
    stores: Sequence[BufferStore], values: Sequence[PrimExpr], starts: list[PrimExpr]
) -> Reducer | None:
    """Each store combines its own sum with a part that reads none of the sums."""
    operators: list[Combine] = []
    parts: list[PrimExpr] = []
    for store, value, start in zip(stores, values, starts):
        if not _is_neutral(start, value):
            return None
        operator = _OPERATORS.get(type(value))
        if operator is None or not isinstance(value, (Add, Mul, Max, Min, And, Or)):
            return None
        if _is_own(value.a, store) and not _reads(value.b, stores):
            parts.append(value.b)
        elif _is_own(value.b, store) and not _reads(value.a, stores):
            parts.append(value.a)
        else:
            return None
        operators.append(operator)

    def combine(lefts: Sequence[PrimExpr], rights: Sequence[PrimExpr]) -> list[PrimExpr]:
        return [op(left, right) for op, left, right in zip(operators, lefts, rights)]

    return Reducer(combine, starts, parts, stores)


def _is_neutral(start: PrimExpr, value: PrimExpr) -> bool:
    """Starting from it several times is starting from it once, as for the greatest or least."""
    if isinstance(value, Add):
        return is_zero(start)
    return is_one(start) if isinstance(value, Mul) else True


def _pair(
    stores: Sequence[BufferStore], values: Sequence[PrimExpr], starts: list[PrimExpr], key: int
) -> Reducer | None:
    """The pair with the greatest or least element number `key`; in a tie the other one decides."""
    parts: list[PrimExpr] = []
    conditions: list[PrimExpr] = []
    for store, value in zip(stores, values):
        if not isinstance(value, Select) or not _is_own(value.true_value, store):
            return None
        parts.append(value.false_value)
        conditions.append(value.condition)
    if any(_reads(part, stores) for part in parts):
        return None
    owns = [_loaded(store) for store in stores]
    choices = _with_nan(conditions, owns, parts, key) or _plain_choices(
        conditions, owns, parts, key
    )
    if choices is None:
        return None

    def combine(lefts: Sequence[PrimExpr], rights: Sequence[PrimExpr]) -> list[PrimExpr]:
        return [
            Select(choice(lefts, rights), left, right)
            for choice, left, right in zip(choices, lefts, rights)
        ]

    return Reducer(combine, starts, parts, stores)


Choice = Callable[[Sequence[PrimExpr], Sequence[PrimExpr]], PrimExpr]


def _with_nan(
    conditions: Sequence[PrimExpr], owns: Sequence[PrimExpr], parts: Sequence[PrimExpr], key: int
) -> list[Choice] | None:
    """The choices of a pair whose key may be NaN, which stays once found; in a tie the least other.

    `beyond(a, b)` is `b == b and not a <= b`: true where `a` is NaN and `b` is a number.
    """
    found = rewrite(_OneForm(), list(conditions))
    for largest in (True, False):

        def beyond(a: PrimExpr, b: PrimExpr, largest: bool = largest) -> PrimExpr:
            return And(EQ(b, b), Not(LE(a, b) if largest else LE(b, a)))

        def stays(
            lefts: Sequence[PrimExpr], rights: Sequence[PrimExpr], beyond: Combine = beyond
        ) -> PrimExpr:
            return beyond(lefts[key], rights[key])

        def stays_or_first(
            lefts: Sequence[PrimExpr], rights: Sequence[PrimExpr], beyond: Combine = beyond
        ) -> PrimExpr:
            first = LT(lefts[1 - key], rights[1 - key])
            tied = And(Not(beyond(rights[key], lefts[key])), first)
            return Or(beyond(lefts[key], rights[key]), tied)

        choices: list[Choice] = [stays_or_first, stays_or_first]
        choices[key] = stays
        wanted = rewrite(_OneForm(), [choice(owns, parts) for choice in choices])
        if all(map(expr_deep_equal, found, wanted)):
            return choices
    return None


@mutator
class _OneForm(StmtExprMutator):
    """One way to write a condition: comparisons ascend, `not` stands inside of `and` and `or`."""

    def visit_gt_(self, op: GT) -> PrimExpr:
        return LT(self.visit_expr(op.b), self.visit_expr(op.a))

    def visit_ge_(self, op: GE) -> PrimExpr:
        return LE(self.visit_expr(op.b), self.visit_expr(op.a))

    def visit_not_(self, op: Not) -> PrimExpr:
        inner = op.a
        if isinstance(inner, Not):
            return self.visit_expr(inner.a)
        if isinstance(inner, And):
            return Or(self.visit_expr(Not(inner.a)), self.visit_expr(Not(inner.b)))
        if isinstance(inner, Or):
            return And(self.visit_expr(Not(inner.a)), self.visit_expr(Not(inner.b)))
        if isinstance(inner, EQ):
            return NE(self.visit_expr(inner.a), self.visit_expr(inner.b))
        return Not(self.visit_expr(inner))


def _plain_choices(
    conditions: Sequence[PrimExpr], owns: Sequence[PrimExpr], parts: Sequence[PrimExpr], key: int
) -> list[Choice] | None:
    """The choices of a pair whose key is compared as it is."""
    choices = [_choice(c, owns, parts, key) for c in conditions]
    kinds = {_facing(_plain(c), owns[key]).__class__ for c in conditions}
    one_way = kinds <= set(_GREATER) or kinds <= set(_SMALLER)
    if not one_way or _tied(conditions[key]) is not None:
        return None
    found = [choice for choice in choices if choice is not None]
    return found if len(found) == len(choices) else None


def _choice(
    condition: PrimExpr, owns: Sequence[PrimExpr], parts: Sequence[PrimExpr], key: int
) -> Choice | None:
    """Whether the sum stays, as a function of any two pairs; None for other conditions."""
    compared = _facing(_plain(condition), owns[key])
    if not isinstance(compared, (*_GREATER, *_SMALLER)):
        return None
    if not _same(compared, owns[key], parts[key]):
        return None
    kind: type[CmpExpr] = type(compared)
    tie = _tied(condition)
    if tie is None:
        return lambda lefts, rights: kind(lefts[key], rights[key])
    other = 1 - key
    alike, first = (_facing(t, owns[n]) for t, n in zip(tie, (key, other)))
    if not isinstance(alike, EQ) or not isinstance(first, LT):
        return None
    if not _same(alike, owns[key], parts[key]) or not _same(first, owns[other], parts[other]):
        return None
    return lambda lefts, rights: Or(
        kind(lefts[key], rights[key]),
        And(equal(lefts[key], rights[key]), less(lefts[other], rights[other])),
    )


def _plain(condition: PrimExpr) -> PrimExpr:
    return condition.a if isinstance(condition, Or) else condition


def _tied(condition: PrimExpr) -> tuple[EQ, CmpExpr] | None:
    """The two parts of `a > b or (a == b and i < j)` behind the `or`."""
    if isinstance(condition, Or) and isinstance(condition.b, And):
        alike, first = condition.b.a, condition.b.b
        if isinstance(alike, EQ) and isinstance(first, (LT, GT)):
            return alike, first
    return None


_MIRRORED: Final[dict[type[PrimExpr], type[CmpExpr]]] = {LT: GT, GT: LT, LE: GE, GE: LE, EQ: EQ}


def _facing(compared: PrimExpr, own: PrimExpr) -> PrimExpr:
    """The comparison with `own` on its left: simplification turns `a > b` to `b < a`."""
    kind = _MIRRORED.get(type(compared))
    if kind is None or not isinstance(compared, CmpExpr) or not expr_deep_equal(compared.b, own):
        return compared
    return kind(compared.b, compared.a)


def _same(compared: CmpExpr, a: PrimExpr, b: PrimExpr) -> bool:
    return expr_deep_equal(compared.a, a) and expr_deep_equal(compared.b, b)


def _is_own(expr: PrimExpr, store: BufferStore) -> bool:
    if not isinstance(expr, BufferLoad) or expr.buffer is not store.buffer:
        return False
    return all(a is b or expr_deep_equal(a, b) for a, b in zip(expr.indices, store.indices))


def _reads(expr: PrimExpr, stores: Sequence[BufferStore]) -> bool:
    buffers = {store.buffer for store in stores}
    return any(isinstance(n, BufferLoad) and n.buffer in buffers for n in walk(expr))
