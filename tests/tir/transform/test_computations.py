"""What is counted, what may be named, and in which order."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.tir.transform.computations import Computations

pytestmark = pytest.mark.pure

X, Y, Z = (tir.Var(name, "int32") for name in "xyz")
BUFFER = tir.decl_buffer((8,), "int32", "B")


def counted(found: Computations, stmt: tir.Stmt) -> dict[str, int]:
    return {str(c.expr): c.times for c in found.of_stmt(stmt).values()}


def test_what_may_be_named() -> None:
    found = Computations(equivalent=False)
    assert found.may_be_named((X + Y) * 2)
    assert found.may_be_named(X // 4)
    for expr in (X, tir.const(1), X // Y, BUFFER[X] + 1, tir.exp(X.astype("float32")) + 1.0,
                 tir.Ramp(X + Y, 1, 4)):  # fmt: skip
        assert not found.may_be_named(expr)


def test_parts_of_what_is_counted_are_not() -> None:
    found = Computations(equivalent=False)
    store = tir.BufferStore(BUFFER, BUFFER[X + Y] + (X + Y) * 2, [X + Y])
    assert counted(found, store) == {"x + y": 2, "(x + y) * 2": 1}
    assert [str(part) for part in found.within((X + Y) * (X - 1))] == ["x + y", "x - 1"]


def test_branches_and_loops_count_what_two_parts_compute() -> None:
    found = Computations(equivalent=False)
    one, other = (tir.BufferStore(BUFFER, value, [X]) for value in (X + Y, X + Y))
    assert counted(found, tir.IfThenElse(X < Y, one, other)) == {"x + y": 2}
    assert counted(found, tir.IfThenElse(X < Y, one)) == {}
    loop = tir.For(Z, 0, X + Y, tir.ForKind.SERIAL, tir.SeqStmt([one, one]))
    assert counted(found, loop) == {"x + y": 3}
    loop = tir.For(Z, 0, 8, tir.ForKind.SERIAL, tir.SeqStmt([one, one]))
    assert counted(found, loop) == {}


def test_order_and_equivalence() -> None:
    found = Computations(equivalent=False)
    exprs = [X + Y, Y + X, (X + Y) * 2, X + 10, X + 3]
    ordered = [str(expr) for expr in sorted(exprs, key=found.order)]
    assert ordered == ["(x + y) * 2", "x + 10", "x + 3", "x + y", "y + x"]
    assert found.key(X + 1 + 2) != found.key(X + 3)
    same = Computations(equivalent=True)
    assert same.key(X + (Y + Z)) == same.key((X + Y) + Z)
    a, b = (tir.Var(name, "float32") for name in "ab")
    assert same.key(tir.Not(a <= b)) != same.key(b < a), "one of them may be NaN"
    store = tir.BufferStore(BUFFER, X + (Y + Z), [(X + Y) + Z])
    assert counted(same, store) == {"x + y + z": 2}
