"""Each rule keeps the value of what it rewrites, tried out on small integers."""

from __future__ import annotations

import math
import random

import pytest

from tests.arith.fuzz import NAMES
from tvm.arith import pattern_rule as r
from tvm.arith.rewrite_simplify import SCALAR_TABLES as TABLES
from tvm.arith.rules import vector
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import scalar

pytestmark = pytest.mark.pure
INT = DataType("int32")
SCALAR = [(kind.__name__, i, one) for kind, t in TABLES.items() for i, one in enumerate(t.rules)]
VECTOR = [
    (kind.__name__, i, one) for kind, t in vector.RULES.items() for i, one in enumerate(t.rules)
]
LANES = 3


class Undefined(Exception):
    """A division by zero: the rule says nothing about it."""


def value(p: r.Pattern, env: dict[int, int]):
    """The value of a piece of a rule; a list for vectors."""
    if isinstance(p, (r.Name, r.Constant)):
        return env[p.slot]
    if isinstance(p, (r.Literal, r.Truth)):
        return int(p.value)
    if isinstance(p, r.BoundOf):
        return value(p.of, env)
    if isinstance(p, r.Proof):
        return value(p.condition, env)
    if isinstance(p, r.Plain):
        return value(p.of, env)
    if isinstance(p, r.Gcd):
        return math.gcd(value(p.a, env), value(p.b, env))
    if isinstance(p, r.Negation):
        return int(not value(p.a, env))
    if isinstance(p, r.Choice):
        return value(p.yes if value(p.condition, env) else p.no, env)
    if isinstance(p, r.Repeat):
        return [value(p.value, env)] * LANES
    if isinstance(p, r.Steps):
        base, step = value(p.base, env), value(p.stride, env)
        return [base + i * step for i in range(LANES)]
    assert isinstance(p, r.Op)
    a = value(p.a, env)
    if p.kind in (e.And, e.Or) and isinstance(a, int) and bool(a) is not (p.kind is e.And):
        return a  # guards look at the second condition only where it matters
    b = value(p.b, env)
    if isinstance(a, list) or isinstance(b, list):
        left = a if isinstance(a, list) else [a] * LANES
        right = b if isinstance(b, list) else [b] * LANES
        return [join(p.kind, m, n) for m, n in zip(left, right)]
    return join(p.kind, a, b)


def join(kind: type, a: int, b: int) -> int:
    if kind is e.And:
        return int(bool(a) and bool(b))
    if kind is e.Or:
        return int(bool(a) or bool(b))
    found = scalar.binary(NAMES[kind], a, b, INT)
    if found is None:
        raise Undefined
    return int(found)


def slots(p: r.Pattern) -> set[int]:
    """The names that a pattern fills in."""
    if isinstance(p, (r.Name, r.Constant)):
        return {p.slot}
    below = [getattr(p, n) for n in ("a", "b", "condition", "yes", "no", "value", "base", "stride")
             if isinstance(getattr(p, n, None), r.Pattern)]  # fmt: skip
    return set().union(*[slots(q) for q in below]) if below else set()


def conditions(p: r.Pattern, wanted: bool) -> set[int]:
    """The names that stand for conditions, so are 0 or 1."""
    if isinstance(p, r.Name):
        return {p.slot} if wanted else set()
    if isinstance(p, r.Op):
        inner = p.kind in (e.And, e.Or)
        return conditions(p.a, inner) | conditions(p.b, inner)
    if isinstance(p, r.Negation):
        return conditions(p.a, True)
    if isinstance(p, r.Repeat):
        return conditions(p.value, wanted)
    if isinstance(p, r.Choice):
        return conditions(p.condition, True) | conditions(p.yes, False) | conditions(p.no, False)
    return set()


def check(one: r.Rule, seed: str, tries: int) -> None:
    source = random.Random(seed)
    names = sorted(slots(one.lhs))
    bools = conditions(one.lhs, wanted=False)
    fired = 0
    for attempt in range(tries):
        reach = 4 if attempt % 2 else 13
        env = {s: source.randint(0, 1) if s in bools else source.randint(-reach, reach)
               for s in names}  # fmt: skip
        try:
            if one.guard is not None and not value(one.guard, env):
                continue
            before, after = value(one.lhs, env), value(one.rhs, env)
        except Undefined:
            continue
        fired += 1
        assert before == after, f"{one} at {env}: {before} became {after}"
        if fired >= 60:
            return
    assert fired > 0, f"{one} never applied"


@pytest.mark.parametrize("kind", sorted({kind for kind, _, _ in SCALAR}))
def test_scalar_rules(kind: str) -> None:
    for name, place, one in SCALAR:
        if name == kind:
            check(one, f"{name} {place}", 4000)


def test_vector_rules() -> None:
    for name, place, one in VECTOR:
        check(one, f"{name} {place}", 4000)


def test_many_rules() -> None:
    """The tables are the algebra: a rule lost in an edit shows here."""
    assert len(SCALAR) + len(VECTOR) > 500
