"""Which values no clause of a match takes.

    match (%xs) { Nil => 0 }    ->    [Cons(_, _)]

Candidates are told apart one constructor deeper for as long as a clause looks there.
"""

from __future__ import annotations

from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.support.arguments import explained

from .adt import (
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
)


@explained
def unmatched_cases(match: Match, mod: IRModule | None = None) -> list[Pattern]:
    """Patterns of values for which no clause is there; none when the match is complete."""
    candidates: list[Pattern] = [PatternWildcard()]
    missing: list[Pattern] = []
    while candidates:
        candidate = candidates.pop()
        verdicts = [_covers(clause.lhs, candidate) for clause in match.clauses]
        first = next((v for v in verdicts if v is not False), False)
        if first is True:
            continue
        if first is False:
            missing.append(candidate)
        else:
            candidates.extend(_split(match, candidate, mod))
    return missing


def _covers(clause: Pattern, candidate: Pattern) -> bool | None:
    """Whether a clause takes all values (True), none (False) or some (None) of a candidate."""
    if isinstance(clause, (PatternWildcard, PatternVar)):
        return True
    if isinstance(candidate, PatternWildcard):
        return None
    if isinstance(clause, PatternConstructor) and isinstance(candidate, PatternConstructor):
        if clause.constructor.name_hint != candidate.constructor.name_hint:
            return False
        pairs = zip(clause.patterns, candidate.patterns)
    else:
        assert isinstance(clause, PatternTuple) and isinstance(candidate, PatternTuple), "one type"
        pairs = zip(clause.patterns, candidate.patterns)
    inner = [_covers(a, b) for a, b in pairs]
    return False if False in inner else None if None in inner else True


def _split(match: Match, candidate: Pattern, mod: IRModule | None) -> list[Pattern]:
    """A candidate as cases that are told apart one step deeper, where a clause looks."""
    for clause in match.clauses:
        found = _deeper(clause.lhs, candidate, mod)
        if found is not None:
            return found
    return []


def _deeper(clause: Pattern, candidate: Pattern, mod: IRModule | None) -> list[Pattern] | None:
    if isinstance(clause, (PatternWildcard, PatternVar)):
        return None
    if isinstance(candidate, PatternWildcard):
        if isinstance(clause, PatternTuple):
            return [PatternTuple([PatternWildcard() for _ in clause.patterns])]
        assert isinstance(clause, PatternConstructor), "four kinds of patterns"
        known = {} if mod is None else mod.type_definitions  # a module of types alone is no False
        data = known.get(clause.constructor.belong_to)
        if data is None:
            raise TVMError("unmatched_cases: the data type is unknown; legal: give its module")
        return [
            PatternConstructor(c, [PatternWildcard() for _ in c.inputs]) for c in data.constructors
        ]
    made = getattr(clause, "constructor", None)
    if made is not None and made.name_hint != candidate.constructor.name_hint:  # type: ignore[attr-defined]
        return None
    patterns = candidate.patterns  # type: ignore[attr-defined]
    for at, (a, b) in enumerate(zip(clause.patterns, patterns)):  # type: ignore[attr-defined]
        found = _deeper(a, b, mod)
        if found is not None:
            whole = [[*patterns[:at], p, *patterns[at + 1 :]] for p in found]
            if isinstance(candidate, PatternTuple):
                return [PatternTuple(w) for w in whole]
            return [PatternConstructor(candidate.constructor, w) for w in whole]  # type: ignore[attr-defined]
    return None
