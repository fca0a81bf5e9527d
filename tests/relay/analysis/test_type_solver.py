"""Types that follow from relations and from being equal, without a program around them."""

from __future__ import annotations

from typing import Any

import pytest

import tvm
from tvm import relay
from tvm.error import DiagnosticError
from tvm.relay.analysis import _ffi_api

pytestmark = pytest.mark.pure

TENSOR = relay.TensorType((4, 5), "int32")


class Solver:
    def __init__(self) -> None:
        methods = _ffi_api._test_type_solver()
        self.solve, self.unify = methods("Solve"), methods("Unify")
        self.resolve, self.add = methods("Resolve"), methods("AddConstraint")

    def related(self, name: str, *inputs: Any, out: Any = None) -> Any:
        rule = tvm.ir.EnvFunc.get(f"tvm.relay.type_relation.{name}")
        out = out or relay.ty.IncompleteType()
        self.add(relay.TypeRelation(rule, [*inputs, out], len(inputs), None))
        return out


def incomplete(count: int) -> list[Any]:
    return [relay.ty.IncompleteType() for _ in range(count)]


def test_forward() -> None:
    s = Solver()
    row = relay.TensorType((1, 5), "int32")
    out = s.related("BroadcastComp", s.related("Identity", s.related("Broadcast", TENSOR, row)),
                    relay.TensorType((2, 1, 1), "int32"))  # fmt: skip
    assert s.solve()
    assert s.resolve(out) == relay.TensorType((2, 4, 5), "bool")


def test_backward() -> None:
    s = Solver()
    (a,) = incomplete(1)
    out = s.related("Broadcast", TENSOR, a)
    assert not s.solve()
    s.related("Identity", a, out=relay.TensorType((3, 1, 1), "int32"))
    assert s.solve()
    assert s.resolve(out) == relay.TensorType((3, 4, 5), "int32")


def test_a_relation_waits_for_what_is_unified_later() -> None:
    s = Solver()
    a, b = incomplete(2)
    pair = relay.TupleType([a, b])
    out = s.related("Broadcast", a, b)
    assert not s.solve()
    s.unify(pair, relay.TupleType([TENSOR, TENSOR]))
    assert s.solve()
    assert s.resolve(out) == TENSOR


GLOBAL = relay.GlobalTypeVar("Box")
UNIT = relay.TupleType([])


@pytest.mark.parametrize(
    "make",
    [
        lambda x, y: relay.TupleType([x, y, x]),
        lambda x, y: relay.FuncType([x, relay.TupleType([y])], y),
        lambda x, y: relay.TypeCall(GLOBAL, [x, y]),
        lambda x, y: relay.RefType(relay.TupleType([x, y])),
        lambda x, y: relay.FuncType([relay.FuncType([x], y)], relay.RefType(x)),
    ],
)
def test_open_types_inside_are_found(make: Any) -> None:
    s = Solver()
    a, b = incomplete(2)
    known = make(TENSOR, UNIT)
    assert s.unify(make(a, b), known) == known
    assert s.resolve(a) == TENSOR
    assert s.resolve(b) == UNIT


def test_open_types_become_one() -> None:
    s = Solver()
    a, b = incomplete(2)
    s.unify(relay.TupleType([a, b]), relay.TupleType([b, a]))
    assert s.unify(a, TENSOR) == s.resolve(b) == TENSOR
    assert s.unify(GLOBAL, GLOBAL) == GLOBAL


def test_parameters_of_function_types_are_renamed() -> None:
    s = Solver()
    x, y = incomplete(2)
    a, b, c, d = (relay.TypeVar(name) for name in "abcd")
    mine = relay.FuncType([x], y, [c, d])
    assert s.unify(mine, relay.FuncType([a], b, [a, b])) == s.resolve(mine)
    assert s.resolve(x) == c
    assert s.resolve(y) == d


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (relay.TupleType([TENSOR]), relay.TupleType([TENSOR, TENSOR])),
        (GLOBAL, relay.GlobalTypeVar("Bag")),
        (relay.TypeCall(GLOBAL, [TENSOR]), relay.TypeCall(relay.GlobalTypeVar("Bag"), [TENSOR])),
        (relay.TypeCall(GLOBAL, [TENSOR]), relay.TypeCall(GLOBAL, [TENSOR, TENSOR])),
        (relay.FuncType([TENSOR], UNIT), relay.FuncType([TENSOR], TENSOR)),
        (relay.TypeCall(GLOBAL, [TENSOR]), relay.TupleType([TENSOR])),
    ],
)
def test_types_that_differ(a: Any, b: Any) -> None:
    with pytest.raises(DiagnosticError, match="differ"):
        Solver().unify(a, b)


def test_a_type_in_itself() -> None:
    s = Solver()
    a, b = incomplete(2)
    s.unify(b, relay.RefType(a))
    with pytest.raises(DiagnosticError, match="contain itself"):
        s.unify(a, relay.TupleType([TENSOR, b]))


def test_a_function_that_takes_itself() -> None:
    x = relay.var("x")
    with pytest.raises(DiagnosticError, match="contain itself"):
        relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], x(x))))
