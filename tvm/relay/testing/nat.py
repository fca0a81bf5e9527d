"""Natural numbers as data: made of Python's numbers, and counted."""

from __future__ import annotations

from typing import Any

from tvm.relay.backend.evaluate import ConstructorValue


def get_type(prelude: Any, name: str) -> tuple[Any, ...]:
    """A data type of the prelude's module, with its constructors."""
    found: tuple[Any, ...] = prelude.mod.get_type(name)
    return found


def count(prelude: Any, n: ConstructorValue) -> int:
    """The Python number of a natural one."""
    _, z, s = get_type(prelude, "nat")
    found = 0
    while n.constructor.name_hint == s.name_hint:
        found += 1
        n = n.fields[0]
    assert n.constructor.name_hint == z.name_hint, "a number is zero or comes after one"
    return found


def make_nat_value(prelude: Any, n: int) -> ConstructorValue:
    """The value for a Python number."""
    _, z, s = get_type(prelude, "nat")
    made = ConstructorValue(z.tag, [], z)
    for _ in range(n):
        made = ConstructorValue(s.tag, [made], s)
    return made


def make_nat_expr(prelude: Any, n: int) -> Any:
    """The expression for a Python number."""
    if n < 0:
        raise ValueError(f"no natural number is {n}")
    _, z, s = get_type(prelude, "nat")
    made = z()
    for _ in range(n):
        made = s(made)
    return made
