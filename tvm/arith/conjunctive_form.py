"""Conditions as a conjunction of alternatives: (a or b) and (c or d) and ...

    (a and b) or c   ->   (a or c) and (b or c)

Within this form each pair of alternatives, and each pair of clauses, is simplified together.
"""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e

from .deep_equal import deep_equal
from .pattern_rule import Builder

Clause = list[PrimExpr]
MAX_CLAUSES: Final = 64  # the form may be exponentially longer; then the condition stays


def as_and_of_ors(condition: PrimExpr, simplifier: Builder) -> PrimExpr:
    """The simplified condition as a conjunction of alternatives."""
    clauses = _clauses(condition)
    if clauses is None:
        return condition
    return _Form(clauses, simplifier).simplified()


def _clauses(condition: PrimExpr) -> list[Clause] | None:
    if isinstance(condition, e.And):
        first, second = _clauses(condition.a), _clauses(condition.b)
        return None if first is None or second is None else first + second
    if isinstance(condition, e.Or):
        first, second = _clauses(condition.a), _clauses(condition.b)
        if first is None or second is None or len(first) * len(second) > MAX_CLAUSES:
            return None
        return [a + b for a in first for b in second]
    return [[condition]]


class _Form:
    def __init__(self, clauses: list[Clause], simplifier: Builder) -> None:
        self._clauses = clauses
        self._simplifier: Final = simplifier

    def simplified(self) -> PrimExpr:
        """The clauses simplified by themselves, then in pairs."""
        found: list[Clause] = []
        for clause in self._clauses:
            short = self._alternatives(clause)
            if short is not None:
                if not short:
                    return e.IntImm(e.BOOL, 0)
                found.append(short)
        found = self._distinct(found)
        changed = True
        while changed:
            changed = False
            for i in range(len(found)):
                for j in range(i + 1, len(found)):
                    joined = self._joined(found[i], found[j])
                    if joined is not None:
                        keep = [c for k, c in enumerate(found) if k not in (i, j)]
                        found = self._distinct([*keep[:i], joined, *keep[i:]])
                        changed = True
                        break
                if changed:
                    break
        return self._expr(found)

    def _alternatives(self, clause: Clause) -> Clause | None:
        """The clause without what its other parts make needless; None if it always holds."""
        parts = list(clause)
        changed = True
        while changed:
            changed = False
            for i in range(len(parts)):
                for j in range(i + 1, len(parts)):
                    same = deep_equal(parts[i], parts[j])
                    both = parts[i] if same else self._simplifier.make(e.Or, parts[i], parts[j])
                    if isinstance(both, e.IntImm) and both.value:
                        return None
                    if not isinstance(both, e.Or):
                        others = [p for k, p in enumerate(parts) if k not in (i, j)]
                        parts = [*others[:i], both, *others[i:]]
                        changed = True
                        break
                if changed:
                    break
        if any(isinstance(p, e.IntImm) and p.value for p in parts):
            return None
        return [p for p in parts if not isinstance(p, e.IntImm)]

    def _distinct(self, clauses: list[Clause]) -> list[Clause]:
        """Without clauses that another one implies."""
        kept: list[Clause] = []
        for clause in clauses:
            if any(_within(other, clause) for other in kept):
                continue
            kept = [other for other in kept if not _within(clause, other)]
            kept.append(clause)
        return kept

    def _joined(self, a: Clause, b: Clause) -> Clause | None:
        """Two clauses as one: single conditions that join, or clauses that differ in one part."""
        if len(a) != len(b):
            return None
        common = [p for p in a if any(deep_equal(p, q) for q in b)]
        if len(common) != len(a) - 1:
            return None
        left = next(p for p in a if not any(deep_equal(p, q) for q in b))
        right = next(q for q in b if not any(deep_equal(p, q) for p in a))
        both = self._simplifier.make(e.And, left, right)
        if isinstance(both, e.And):
            return None
        if isinstance(both, e.IntImm) and not both.value:
            return common if common else [both]
        return [*common, both]

    def _expr(self, clauses: list[Clause]) -> PrimExpr:
        result: PrimExpr = e.IntImm(e.BOOL, 1)
        for clause in clauses:
            part = clause[0]
            for other in clause[1:]:
                part = e.Or(part, other)
            result = part if isinstance(result, e.IntImm) else e.And(result, part)
        return result


def _within(small: Clause, large: Clause) -> bool:
    """Each alternative of the small clause is one of the large clause."""
    return all(any(deep_equal(p, q) for q in large) for p in small)
