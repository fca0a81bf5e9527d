"""Constant bounds."""

from __future__ import annotations

import random
from itertools import product

import pytest

from tests.arith.fuzz import Source, Undefined, evaluate, points
from tvm import tir
from tvm.arith import Analyzer, ConstIntBound
from tvm.ir import Range, structural_equal
from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir.functor import walk

pytestmark = pytest.mark.pure
INF, NEG = ConstIntBound.POS_INF, ConstIntBound.NEG_INF
x, y = e.Var("x", "int64"), e.Var("y", "int64")
fld, flm, tdiv, tmod = tir.floordiv, tir.floormod, tir.truncdiv, tir.truncmod

CASES = [
    (x + y, (0, 4), (1, 10), (1, 14)),
    (x + y, (0, 4), (NEG, 10), (NEG, 14)),
    (x - y, (0, 4), (1, 10), (-10, 3)),
    (x - y, (0, 4), (1, INF), (NEG, 3)),
    (x * y, (-2, 4), (4, 10), (-20, 40)),
    (x * y, (-2, 4), (NEG, INF), (NEG, INF)),
    (x * y, (0, 0), (NEG, INF), (0, 0)),
    (tdiv(x, y), (-9, 4), (4, 10), (-2, 1)),
    (tdiv(x, y), (-9, 4), (-2, 0), (-4, 9)),
    (tdiv(x, y), (NEG, 4), (-2, 1), (NEG, INF)),
    (tmod(x, y), (-9, 4), (4, 10), (-9, 4)),
    (tmod(x, y), (NEG, INF), (4, 10), (-9, 9)),
    (tmod(x, y), (1, INF), (4, 10), (0, 9)),
    (fld(x, y), (-9, 4), (4, 10), (-3, 1)),
    (fld(x, y), (-9, 4), (-2, 0), (-4, 9)),
    (fld(x, y), (NEG, 4), (-2, 1), (NEG, INF)),
    (flm(x, y), (-9, 4), (4, 10), (0, 9)),
    (flm(x, y), (NEG, INF), (4, 10), (0, 9)),
    (flm(x, 10), (13, 15), (0, 0), (3, 5)),
    (tir.min(x, y), (-9, 11), (4, 10), (-9, 10)),
    (tir.max(x, y), (-9, 11), (4, 10), (4, 11)),
    (tir.Select(x > 1, y - x, y + 1), (-9, 11), (4, 10), (-7, 19)),
    (x.astype("int32"), (-9, 11), (0, 0), (-9, 11)),
    (x.astype("uint32"), (-9, 11), (0, 0), (0, (1 << 32) - 1)),
    (tmod(x, 3).astype("float32").astype("int32"), (NEG, INF), (0, 0), (-2, 2)),
    (x.astype("float32").astype("int32"), (NEG, INF), (0, 0), (-(2**31), 2**31 - 1)),
    (x >> y, (0, 4), (1, 3), (0, 2)),
    (x << y, (1, 4), (1, 3), (2, 32)),
    (x & y, (-9, 11), (4, 10), (0, 10)),
]


@pytest.mark.parametrize(("expr", "of_x", "of_y", "expected"), CASES)
def test_bounds(expr, of_x, of_y, expected) -> None:
    analyzer = Analyzer()
    analyzer.update(x, ConstIntBound(*of_x))
    analyzer.update(y, ConstIntBound(*of_y))
    found = analyzer.const_int_bound(expr)
    assert (found.min_value, found.max_value) == expected


def test_types() -> None:
    analyzer = Analyzer()
    for dtype, expected in [("int64", (NEG, INF)), ("int8", (-128, 127)), ("uint8", (0, 255)),
                            ("int32", (-(2**31), 2**31 - 1)), ("bool", (0, 1))]:  # fmt: skip
        found = analyzer.const_int_bound(e.Var("v", dtype))
        assert (found.min_value, found.max_value) == expected
    size = analyzer.const_int_bound(e.SizeVar("n", "int64"))
    assert (size.min_value, size.max_value) == (0, INF)


def test_small_types_wrap() -> None:
    v = e.Var("v", "uint8")
    analyzer = Analyzer()
    assert repr(analyzer.const_int_bound(v + v)) == "ConstIntBound[0,255]"
    analyzer.bind(v, Range.from_min_extent(e.IntImm("uint8", 0), e.IntImm("uint8", 100)))
    assert repr(analyzer.const_int_bound(v + v)) == "ConstIntBound[0,198]"


def test_remainder_of_multiples() -> None:
    found = Analyzer().const_int_bound(flm(x * 4, 10))
    assert (found.min_value, found.max_value) == (0, 8)


def test_vectors_and_bits() -> None:
    analyzer = Analyzer()
    analyzer.bind(x, Range(0, 8))
    assert repr(analyzer.const_int_bound(e.Ramp(x, 2, 4))) == "ConstIntBound[0,13]"
    assert repr(analyzer.const_int_bound(e.Broadcast(x, 4))) == "ConstIntBound[0,7]"
    v = e.Var("v", "int32")
    analyzer.bind(v, Range(1, 9))
    leading = analyzer.const_int_bound(e.Call("int32", "tir.clz", [v]))
    assert (leading.min_value, leading.max_value) == (28, 31)
    assert analyzer.const_int_bound(tir.vscale()).min_value == 1


def test_large_unsigned_numbers_become_negative() -> None:
    analyzer = Analyzer()
    unsigned = e.Var("unsigned", "uint64")
    assert analyzer.const_int_bound(e.Cast("int64", unsigned)).min_value == NEG
    analyzer.bind(unsigned, Range(e.IntImm("uint64", 0), e.IntImm("uint64", 8)))
    assert repr(analyzer.const_int_bound(e.Cast("int64", unsigned))) == "ConstIntBound[0,7]"


def test_facts() -> None:
    analyzer = Analyzer()
    with analyzer.constraint_scope(tir.all(x < 10, fld(y, 4) == 2)):
        assert analyzer.const_int_bound(x).max_value == 9
        assert repr(analyzer.const_int_bound(y)) == "ConstIntBound[8,11]"
    assert analyzer.const_int_bound(x).max_value == INF


def test_long_sums() -> None:
    total = x
    for _ in range(5000):
        total = total + y
    analyzer = Analyzer()
    analyzer.bind(x, Range(0, 1))
    analyzer.bind(y, Range(0, 3))
    assert analyzer.const_int_bound(total).max_value == 10000


def test_bounds_hold_for_random_expressions() -> None:
    for seed in range(600):
        source = Source(seed)
        ranges, expr = source.ranges(), source.integer(3)
        analyzer = Analyzer()
        analyzer.bind_all(ranges)
        low, high = analyzer.bounds.of(expr)
        for values in points(ranges):
            try:
                assert low <= evaluate(expr, values) <= high
            except Undefined:
                continue


def test_numbers_beyond_what_bounds_tell_apart() -> None:
    b = tir.Var("b", "uint64")
    large = tir.const(2**64 - 47, "uint64")
    analyzer = Analyzer()
    bound = analyzer.const_int_bound(large)
    assert bound.min_value < bound.max_value == bound.POS_INF
    for kept in (tir.LT(large, b), tir.Max(b, large), tir.Min(b, large)):
        assert structural_equal(analyzer.simplify(kept), kept)
    small = tir.const(-(2**63), "int64")
    x = tir.Var("x", "int64")
    assert structural_equal(analyzer.simplify(tir.LT(x, small)), tir.LT(x, small))


def _orders() -> list[tuple[PrimExpr, int]]:
    """(a + b) * c beside a * b in every order; with the sign of the first."""
    a, b, c = (e.Var(name, "int64") for name in "abc")
    sums = [(a + b) * c, (b + a) * c, c * (a + b)]
    products = [a * b, b * a]
    forms = [(s - p, 1) for s, p in product(sums, products)]
    return [*forms, *((p - s, -1) for s, p in product(sums, products))]


@pytest.mark.parametrize(("expr", "sign"), _orders())
def test_sums_beside_products_of_the_same_terms(expr: PrimExpr, sign: int) -> None:
    analyzer = Analyzer()
    for var in {v for v in walk(expr) if isinstance(v, e.Var)}:
        analyzer.update(var, ConstIntBound(*((2048, 2048) if var.name == "c" else (1, 4095))))
    bound = analyzer.const_int_bound(expr)
    low, high = (4095, 4096 * 2048 - 4095)
    assert (bound.min_value, bound.max_value) == ((low, high) if sign > 0 else (-high, -low))


def test_sums_beside_products_of_open_bounds() -> None:
    a, b, c = (e.Var(name, "int64") for name in "abc")
    analyzer = Analyzer()
    for var, bound in ((a, (1, 1024)), (b, (1, INF)), (c, (2048, 2048))):
        analyzer.update(var, ConstIntBound(*bound))
    assert analyzer.const_int_bound((a + b) * c - a * b).min_value == 4095
    assert analyzer.const_int_bound(a * b * 2 - (a + b) * c).max_value == -4094
    analyzer.update(c, ConstIntBound(1, INF), True)
    assert analyzer.const_int_bound((a + b) * c - a * b).min_value == NEG


def test_sums_beside_products_lie_within() -> None:
    a, b, c, d = variables = [e.Var(name, "int64") for name in "abcd"]
    source = random.Random(2)
    for expr in ((a + b) * c - a * b * d, a * d * b + c * (b + a), (a + a) * c - a * a * d):
        for _ in range(40):
            lows = [source.randint(-3, 3) for _ in variables]
            ranges = [range(low, low + source.randint(1, 4)) for low in lows]
            analyzer = Analyzer()
            for var, values in zip(variables, ranges):
                analyzer.update(var, ConstIntBound(values[0], values[-1]))
            found = analyzer.const_int_bound(expr)
            for point in product(*ranges):
                value = evaluate(expr, dict(zip(variables, point)))
                assert found.min_value <= value <= found.max_value
