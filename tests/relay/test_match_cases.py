"""Values that no clause takes."""

from __future__ import annotations

from typing import Any

import pytest

from tvm import relay
from tvm.relay.match_cases import unmatched_cases

pytestmark = pytest.mark.pure
HEAD = '#[version = "0.0.5"]\n'
LISTS = HEAD + "type List[A] { Cons(A, List[A]), Nil }\n"


@pytest.mark.parametrize(
    ("clauses", "missing"),
    [
        ("Cons(_, _) => 1, Nil => 0", []),
        ("Cons(_, _) => 1", ["Nil"]),
        ("Cons(_, Cons(_, _)) => 1, Nil => 0", ["Cons"]),
        ("_ => 0", []),
    ],
)
def test_matches(clauses: str, missing: list[str]) -> None:
    mod = relay.parse(LISTS + f"def @f(%x: List[int32]) {{ match? (%x) {{ {clauses} }} }}")
    found: list[Any] = unmatched_cases(mod["f"].body, mod)
    assert [pattern.constructor.name_hint for pattern in found] == missing


def test_cases_are_shown_as_text() -> None:
    case = relay.PatternTuple([relay.PatternVar(relay.var("x")), relay.PatternWildcard()])
    assert str(case) == repr(case) == "(%x, _)"
    assert str(relay.Clause(case, relay.const(1))) == "(%x, _) => {\n  1\n},"
    assert case.astext().startswith('#[version = "0.0.5"]')
