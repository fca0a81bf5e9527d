"""Divisions of ramps: the forms they take, and each lane against ordinary integers."""

from __future__ import annotations

import random

import pytest

from tvm import tir
from tvm.arith import Analyzer, ConstIntBound
from tvm.arith.deep_equal import deep_equal
from tvm.error import TVMError
from tvm.tir import expr as e
from tvm.tir import scalar

pytestmark = pytest.mark.pure
x = e.Var("x", "int32")
fld, flm, tdiv, tmod = tir.floordiv, tir.floormod, tir.truncdiv, tir.truncmod


def ramp(base, stride, lanes) -> e.Ramp:
    return e.Ramp(base, stride, lanes)


CASES = [
    (fld(ramp(x, 4, 4), 2), ramp(fld(x, 2), 2, 4)),
    (fld(ramp(x * 8 + 1, 1, 4), 8), e.Broadcast(x, 4)),
    (fld(ramp(x * 8 + 15, 1, 4), 8), None),
    (fld(ramp(x * 8, 1, 4), 4), e.Broadcast(x * 2, 4)),
    (fld(ramp(x * 4, 1, 4), 64), e.Broadcast(fld(x, 16), 4)),
    (fld(ramp(x * 4, 1, 5), 64), None),
    (fld(ramp(x * 7, 1, 4), 64), None),
    (flm(ramp(x, 4, 4), 2), e.Broadcast(flm(x, 2), 4)),
    (flm(ramp(x * 8 + 1, 1, 4), 8), ramp(e.IntImm("int32", 1), 1, 4)),
    (flm(ramp(x * 8 + 1, 15, 4), 8), flm(ramp(e.IntImm("int32", 1), 15, 4), 8)),
    (flm(ramp(x * 8 + 7, 1, 4), 4), flm(ramp(e.IntImm("int32", 3), 1, 4), 4)),
    (flm(ramp(x * 4, 1, 4), 64), ramp(flm(x * 4, 64), 1, 4)),
    (flm(ramp(x * 8, 1, tir.vscale() * 4), 8),
     flm(ramp(e.IntImm("int32", 0), 1, tir.vscale() * 4), 8)),
    (tdiv(ramp(x * 4, 4, 4), 2), ramp(x * 2, 2, 4)),  # nothing is left over, whatever the sign
    (tdiv(ramp(x * 6, -3, 4), 3), ramp(x * 2, -1, 4)),
    (tmod(ramp(x * 4, 4, 4), 2), e.Broadcast(e.IntImm("int32", 0), 4)),
    (tdiv(ramp(x * 4 + 1, 4, 4), 2), None),
    (tdiv(ramp(x, 4, 4), 2), None),  # rounded toward zero: a negative base is another matter
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), CASES)
def test_forms(before, after) -> None:
    found = Analyzer().rewrite_simplify(before)
    assert deep_equal(found, before if after is None else after), found


def test_truncation_needs_a_sign() -> None:
    analyzer = Analyzer()
    analyzer.update(x, ConstIntBound(0, 100))
    found = analyzer.rewrite_simplify(tdiv(ramp(x * 8 + 1, 1, 4), 8))
    assert deep_equal(found, e.Broadcast(x, 4))
    found = analyzer.rewrite_simplify(tmod(ramp(x * 8 + 1, 15, 4), 8))
    assert deep_equal(found, e.Mod(ramp(e.IntImm("int32", 1), 15, 4), e.Broadcast(8, 4)))


@pytest.mark.parametrize("kind", [e.Div, e.Mod, e.FloorDiv, e.FloorMod])
def test_division_by_zero_is_refused(kind) -> None:
    with pytest.raises(TVMError, match="Divide by zero"):
        Analyzer().rewrite_simplify(kind(ramp(1, 1, 3), e.Broadcast(0, 3)))


def lanes_of(expr, value: int, count: int) -> list[int]:
    """The lanes of a vector expression over x."""
    if isinstance(expr, e.Broadcast):
        return [scalar_of(expr.value, value)] * count
    if isinstance(expr, e.Ramp):
        start, step = scalar_of(expr.base, value), scalar_of(expr.stride, value)
        return [start + i * step for i in range(count)]
    a, b = lanes_of(expr.a, value, count), lanes_of(expr.b, value, count)
    return [join(type(expr), m, n) for m, n in zip(a, b)]


def scalar_of(expr, value: int) -> int:
    if isinstance(expr, e.IntImm):
        return int(expr.value)
    if isinstance(expr, e.Var):
        return value
    return join(type(expr), scalar_of(expr.a, value), scalar_of(expr.b, value))


def join(kind: type, a: int, b: int) -> int:
    names = {e.Add: "add", e.Sub: "sub", e.Mul: "mul", e.Div: "div", e.Mod: "mod",
             e.FloorDiv: "floordiv", e.FloorMod: "floormod"}  # fmt: skip
    found = scalar.binary(names[kind], a, b, x.dtype)
    assert found is not None
    return int(found)


def test_lanes_keep_their_values() -> None:
    source = random.Random(3)
    changed = 0
    for _ in range(3000):
        kind = source.choice((e.FloorDiv, e.FloorMod, e.Div, e.Mod))
        base = x * source.randint(1, 12) + source.randint(0, 9)
        count = source.randint(2, 6)
        expr = kind(ramp(base, source.choice((1, 1, 2, 4, 8, -1, -4)), count),
                    e.Broadcast(source.choice((2, 3, 4, 8, 16)), count))  # fmt: skip
        analyzer = Analyzer()
        low = source.choice((-7, 0, 1))
        analyzer.update(x, ConstIntBound(low, low + 12))
        found = analyzer.simplify(expr)
        changed += found is not expr
        for value in range(low, low + 13):
            assert lanes_of(found, value, count) == lanes_of(expr, value, count), (expr, found)
    assert changed > 500
