"""Simplification by rules: forms, facts in branches, and random expressions."""

from __future__ import annotations

import pytest

from tests.arith.fuzz import Source, Undefined, evaluate, points
from tests.covering import few
from tvm import tir
from tvm.arith import Analyzer, ConstIntBound
from tvm.arith.deep_equal import deep_equal
from tvm.ir import Range, SourceName, Span
from tvm.tir import expr as e
from tvm.tir.buffer import decl_buffer
from tvm.tir.functor import substitute

x, y, z = (e.Var(n, "int32") for n in "xyz")
b = e.Var("b", "bool")
fld, flm, tdiv, tmod = tir.floordiv, tir.floormod, tir.truncdiv, tir.truncmod
mn, mx = tir.min, tir.max

FORMS = [
    (x + (y - x), y),
    (x - (y + 1) + (y + 1), x),
    (mn(x, y - z) + z, mn(x + z, y)),
    (mx(x, y - 10) + 10, mx(x + 10, y)),
    (mx(x - 11, y) + 11, mx(x, y + 11)),
    (mx(x, y * 2) + mn(x, y * 2), x + y * 2),
    (mn(x + 2, y + 3) + (-2), mn(x, y + 1)),
    (x * y + x * 10, (y + 10) * x),
    (y * x + x, (y + 1) * x),
    ((x + 10) + (13 + z), x + z + 23),
    (fld(x, y) * y + flm(x, y), x),
    (x + y - y, x),
    (x - (y + x), 0 - y),
    (mn(x, y) - x, mn(0, y - x)),
    (x - mn(x, y), mx(0, x - y)),
    (mn(x, y) - mn(y, x), e.IntImm("int32", 0)),
    (mn(x, y) - mn(x + 10, y + 10), e.IntImm("int32", -10)),
    (x - fld(x, 3) * 3, flm(x, 3)),
    (fld(x * 2 + 2, 8), fld(x + 1, 4)),
    (fld(x * 3 - 3, 9), fld(x + (-1), 3)),
    (fld(x * 2 + 4, 8), fld(x * 2 + 4, 8)),
    (tir.truncdiv(x * 2 - 2, 8), tir.truncdiv(x + (-1), 4)),
    (fld(x + 5, 3) - fld(x + 2, 3), fld(flm(x + 2, 3), 3) + 1),
    (fld(x + 2, 4) * 4 + y < x, fld(x + 2, 4) * 4 + y < x),
    (fld(x, 4) * 4 + y > x, e.LT(x, fld(x, 4) * 4 + y)),
    ((x + 2) * 3, x * 3 + 6),
    ((x - y) * (-2), (y - x) * 2),
    (fld(fld(x, 2), 3), fld(x, 6)),
    (fld(fld(x, 2) + 1, 3), fld(x + 2, 6)),
    (fld(x - flm(x, 21), 21), fld(x, 21)),
    (fld(x * 8 + 39, 16), fld(x, 2) + 2),
    (fld(x * 8 - 1, 16), fld(x * 8 + -1, 16)),
    (fld(x * 8 - 9, 16), fld(x, 2) + -1),
    (fld(x * 4 + y, 2), x * 2 + fld(y, 2)),
    (fld(mn(x * 6, y), 2), mn(x * 3, fld(y, 2))),
    (fld(y + x * 4 - z, 2), x * 2 + fld(y - z, 2)),
    (fld(x * y, y), fld(x * y, y)),
    (fld(x * z + y, z), fld(x * z + y, z)),
    (flm(x * 10 + y, 2), flm(y, 2)),
    (flm(x * (-10), 2), e.IntImm("int32", 0)),
    (flm(x + 10, 2), flm(x, 2)),
    (flm(x + 1, 2), flm(x + 1, 2)),
    (flm(x + 7, 2), flm(x + 1, 2)),
    (flm(x * 7, 3), flm(x, 3)),
    (flm(y + x * 5, 3), flm(y + x * 2, 3)),
    (flm(x * 5 + y, 3), flm(x * 5 + y, 3)),
    (mn(x + 1, y + 10), mn(x + 1, y + 10)),
    (mn(x + 3, x + 1), x + 1),
    (mn(x, 2) - 2, mn(x + (-2), 0)),
    (x * 4 - y * 4, (x - y) * 4),
    (fld(flm(x, 2) + 7, 2) + fld(x, 2), fld(x + 7, 2)),
    (fld(y, 2) * 10 - y * 5, flm(y, 2) * (-5)),
    (y * 5 - fld(y - z, 2) * 10, (flm(y - z, 2) + z) * 5),
    (flm(x * 9600, 6400), flm(x * 3200, 6400)),
    (flm(x * 4, 256), flm(x * 4, 256)),
    (flm(x + y * 360, 16), flm(x + y * 8, 16)),
    (tmod(x, -3), tmod(x, 3)),
    (mn(0 - x * 2, 0), mx(x, 0) * (-2)),
    (x * 4 >= 100 - y, e.LE(e.IntImm("int32", 100), x * 4 + y)),
    (fld(x, 4) * 4 >= x, e.EQ(flm(x, 4), e.IntImm("int32", 0))),
    (x + 3 <= y, x + 3 <= y),
    (x + 1 <= y, x < y),
    (mn(mn(x, y), mn(x, z)), mn(mn(y, z), x)),
    (mn(mx(x, y), mx(x, z)), mx(mn(y, z), x)),
    (mn(x * 4, y * 4), mn(x, y) * 4),
    (mx(x * (-2), y * (-2)), mn(x, y) * (-2)),
    (mn(x * 2, 8), mn(x, 4) * 2),
    (mn(tdiv(x, 10), tdiv(y, 10)), tdiv(mn(x, y), 10)),
    (x - 10 < 0, x < 10),
    (10 - x == 0, x == 10),
    (x + 10 < y + 10, x < y),
    (x * 4 <= -2, x <= -1),
    (2 < 3 - x, x < 1),
    (x < y + 1, x <= y),
    (x - 1 < y, x <= y),
    (x + 1 <= y, x < y),
    (mn(x, 8) < 10, e.IntImm("bool", 1)),
    (mx(8, x) > 10, e.LT(10, x)),
    (fld(x, 2) < 3, x < 6),
    (3 < fld(x, 2), e.LT(7, x)),
    (fld(x, 4) * 4 < x, e.LT(0, flm(x, 4))),
    (x * y == 0, tir.Or(x == 0, y == 0)),
    (tir.And(x < y, y <= x), e.IntImm("bool", 0)),
    (tir.Or(x < 5, x > 3), e.IntImm("bool", 1)),
    (tir.And(x < 5, x < 7), tir.And(x < 5, x < 7)),
    (tir.Not(x < y), y <= x),
    (tir.Not(tir.And(b, x == y)), tir.Or(tir.Not(b), x != y)),
    (tir.Select(b, x, x), x),
    (tir.Select(x > y, x - y, 0) + tir.Select(x > y, y, z), tir.Select(y < x, x, z)),
    (e.Ramp(x, 1, 4) + e.Ramp(y, 2, 4), e.Ramp(x + y, 3, 4)),
    (e.Broadcast(y, 4) + e.Ramp(x, 1, 4), e.Ramp(y + x, 1, 4)),
    (fld(e.Ramp(x, 4, 4), 2), e.Ramp(fld(x, 2), 2, 4)),
    (flm(e.Ramp(x, 4, 4), 2), e.Broadcast(flm(x, 2), 4)),
    (tir.likely(x < x), e.IntImm("bool", 0)),
]


def simple(expr):
    return Analyzer().rewrite_simplify(e.as_expr(expr))


@pytest.mark.pure
@pytest.mark.parametrize(("before", "after"), FORMS)
def test_forms(before, after) -> None:
    found, expected = simple(before), e.as_expr(after)
    assert deep_equal(found, expected), f"{before} became {found}, not {expected}"


@pytest.mark.pure
def test_bounds_decide() -> None:
    analyzer = Analyzer()
    analyzer.bind(x, Range(0, 16))
    analyzer.bind(y, Range(0, 64))
    for before, after in [
        (fld(x * 64 + y, 64), x),
        (flm(x * 64 + y, 64), y),
        (fld(x, 16), fld(x, 16)),
        (flm(x + 16, 32), x + 16),
        (mn(x + z, x), mn(x + z, x)),
        (mn(x, 20), x),
        (x * 64 + y < 1024, e.IntImm("bool", 1)),
        (tdiv(x * 4 + 1, 4), x),
    ]:
        assert deep_equal(analyzer.rewrite_simplify(before), after), before


@pytest.mark.pure
def test_branches_know_their_condition() -> None:
    chosen = tir.if_then_else(x < 4, mn(x, 10), mx(x, 3))
    found = simple(chosen)
    assert deep_equal(found, tir.if_then_else(x < 4, x, x)) or deep_equal(found, x)
    # both values of a Select are computed: no division by zero may come into being
    guarded = tir.Select(x == y, flm(z, mx(y, x)), z)
    assert deep_equal(simple(guarded), guarded)


@pytest.mark.pure
def test_choices_within_choices() -> None:
    ite = tir.if_then_else
    inner = ite(x < 5, ite(e.LT(1, x), y, z), z)
    assert deep_equal(simple(ite(x < 5, ite(x > 1, y, z), z)), inner)
    assert deep_equal(simple(ite(x < 5, ite(x < 7, y, z), z)), ite(x < 5, y, z))
    assert deep_equal(simple(ite(x < 5, y, y)), ite(x < 5, y, y))


@pytest.mark.pure
def test_let() -> None:
    v = e.Var("v", "int32")
    assert deep_equal(simple(e.Let(v, e.IntImm("int32", 3), v * 2)), e.IntImm("int32", 6))
    assert deep_equal(simple(e.Let(v, x, v * 2)), x * 2)
    kept = e.Let(v, x + 1, v * 2)  # what is computed stays computed once
    assert simple(kept) is kept


@pytest.mark.pure
def test_reductions() -> None:
    axis = e.IterVar(Range(0, 10), "k", e.IterVar.CommReduce)
    k = axis.var
    found = simple(tir.sum(tir.Select(k < 12, k + x - x, 0), axis))
    assert deep_equal(found.source[0], k)
    a = tir.decl_buffer((10,), name="a")
    assert deep_equal(simple(tir.sum(a[3], [])), a[3])
    where = simple(tir.sum(x, [], where=x > 2))
    assert deep_equal(where, tir.Select(e.LT(2, x), x, 0))
    assert deep_equal(simple(tir.sum(x, [], init=y)), y + x)


@pytest.mark.pure
def test_other_types_are_exact() -> None:
    u, f = e.Var("u", "uint8"), e.Var("f", "float32")
    ten = e.FloatImm("float32", 10.0)
    for expr in [(u + e.IntImm("uint8", 1)) > u, f * 0.0, tir.Not(f < 1.0), f / ten]:
        assert deep_equal(simple(expr), simple(simple(expr)))
        assert not isinstance(simple(expr), e.ConstExpr), expr
    assert deep_equal(simple(mn(f, f)), f)
    assert simple(u >= e.IntImm("uint8", 0)).value == 1


@pytest.mark.pure
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16", "float32"])
def test_operands_of_sums_cancel_for_every_type(dtype: str) -> None:
    v, w = e.Var("v", dtype), e.Var("w", dtype)
    assert simple(v + w - w) is v
    assert simple(v + w - v) is w
    assert deep_equal(simple(v - (v + w)), e.Sub(tir.const(0, dtype), w))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "uint32", "float16", "float64"])
def test_equal_operands_cancel_for_every_type(dtype: str) -> None:
    v = e.Var("v", dtype)
    element = e.BufferLoad(tir.decl_buffer((8,), dtype, "a"), [x + 2])
    for value in (v, element, v * v):
        gap = simple(value - value)
        assert isinstance(gap, e.ConstExpr)
        assert (gap.dtype, gap.value) == (dtype, 0)
        assert simple(e.EQ(value, value)).value == 1
        assert Analyzer().can_prove_equal(value, value)


@pytest.mark.pure
def test_zero_added_to_floats_vanishes() -> None:
    f, zero = e.Var("f", "float32"), e.FloatImm("float32", 0.0)
    lanes = e.Broadcast(f, 4) * e.Broadcast(e.Var("g", "float32"), 4)
    for expr, kept in [(e.Add(f, zero), f), (e.Add(zero, f), f), (e.Sub(f, zero), f)]:
        assert simple(expr) is kept
    assert deep_equal(simple(e.Add(lanes, e.Broadcast(zero, 4))), simple(lanes))
    assert deep_equal(simple(e.Broadcast(zero, 4) * e.Broadcast(f, 4)), e.Broadcast(zero, 4))


@pytest.mark.pure
def test_lanes_are_one_number_whatever_their_type() -> None:
    long = e.Ramp(e.IntImm("int32", 0), 1, e.IntImm("int64", 6))
    assert long.lanes.dtype == "int32"
    assert deep_equal(simple(e.Broadcast(x, 6) + long), e.Ramp(x, 1, 6))


WRITTEN = [
    (7 + x, "7 + x"),
    (y + (7 + x), "y + x + 7"),
    (tir.LT(7 + x, y), "7 < y - x"),
    (tir.LT(y, 7 + x), "y - x < 7"),
    (tir.LT(7 + x, 9), "x < 2"),
    (tir.LT(1 - y * (-4), -2), "y < 0"),
    (tir.LT(x * 4 + 2, y * 6), "x * 2 + 1 < y * 3"),
    (tir.LT(x * 4 + 2, y * 6 + 1), "x * 4 + 1 < y * 6"),
    (flm(y, 6) + x * 6, "x * 6 + y % 6"),
    (flm(y, 6) + x * 3, "y % 6 + x * 3"),
    (fld(z * 3 + x * 5, 5), "z * 3 // 5 + x"),
    (fld(flm(y, 2) * 7, 5), "y % 2"),
    (tdiv(x * (-4), 2), "T.Div(x * -4, 2)"),
    (e.Min(x * 2 + 2, e.as_expr(8)), "T.min(x + 1, 4) * 2"),
    (x * z + x * 7, "(z + 7) * x"),
    (z * x + 7 * x, "(z + 7) * x"),
    (x * 7 + x * z, "(7 + z) * x"),
    (x * y - x * 7, "(y + -7) * x"),
    (x - x * z, "(1 - z) * x"),
    (z * flm(x, 6) + 11 * flm(x, 6), "(z + 11) * (x % 6)"),
    (fld(x - y, 5) * 5 - x, "0 - (x - y) % 5 - y"),
    (tdiv(x - y, 5) * 5 - x, "0 - T.truncmod(x - y, 5) - y"),
    (fld(x - y, 6) * 12 - x * 2, "(0 - (x - y) % 6 - y) * 2"),
    (fld(x + 3, 2) - fld(x, 2), "x % 2 + 1"),
    (fld(x, 2) - fld(x - 3, 2), "x % 2 * -1 + 2"),
    (fld(x + 5, 2) - fld(x - 2, 2), "x % 2 + 3"),
    (fld(flm(x, 2) + 1, 2), "x % 2"),
    (x + 8 < y + 2, "x + 6 < y"),
    (x - 2 < y - 8, "x + 6 < y"),
    (x < y - 8, "x + 8 < y"),
    (x + 2 <= y + 8, "x <= y + 6"),
    (fld(x + 2, 7) * 7 >= x - y, "(x + 2) % 7 <= y + 2"),
    (tir.all(fld(x, 6) == 3, flm(x, 6) < 4), "18 <= x and x < 22"),
    (tir.all(fld(x, 6) == 3, flm(x, 6) <= 4), "18 <= x and x <= 22"),
    (tir.all(fld(x, 6) == 3, flm(x, 6) > 2), "20 < x and x < 24"),
    (tir.all(fld(x, 6) == 3, flm(x, 6) > 4), "22 < x and x < 24"),
    (tir.all(fld(x, 6) == -3, flm(x, 6) >= 4), "-14 <= x and x < -12"),
    (tir.all(0 <= x - y * 6, x - y * 6 < 6), "y == x // 6"),
    (tir.all(x - y * 6 < 6, 0 <= x - y * 6), "y == x // 6"),
    (x - y >= 0, "0 <= x - y"),
    (x - y < 0, "x - y < 0"),
    (x - y - z > 0, "0 < x - y - z"),
    (flm(x * y * 2 + z, y), "(x * y * 2 + z) % y"),
    (e.Or(x == 3, e.Or(y == 3, z == 3)), "x == 3 or y == 3 or z == 3"),
    (e.And(x + y >= 3, x + y >= 3), "3 <= x + y and 3 <= x + y"),
    (mn(tdiv(x + 4, 5) * 5, x), "x"),
    (mx(tdiv(x + 4, 5) * 5, x), "T.Div(x + 4, 5) * 5"),
    (mx(mn(x, y), mx(y, x)), "T.max(x, y)"),
    (x * 7 + 3 - mx(x, 12) * 7, "T.min(0, x + -12) * 7 + 3"),
    (mn(x, y) * 7 - y * 7, "T.min(0, x - y) * 7"),
    (x * 7 - mn(y, x) * 7, "T.max(0, x - y) * 7"),
    (x + mx(y, z), "T.max(y, z) + x"),
    (fld(x, 4) + mn(y, 3), "T.min(y, 3) + x // 4"),
    (mn(x, 3) + mx(y, z), "T.min(x, 3) + T.max(y, z)"),
    (x < mx(y, z), "x < y or x < z"),
    (x < mn(y, z), "x < y and x < z"),
    (mn(x, y) < z, "x < z or y < z"),
    (mx(x, y) < z, "x < z and y < z"),
    (mx(x, y) <= z, "x <= z and y <= z"),
    (x - 3 < mx(x, y), "T.bool(True)"),
    (y - 2 < mn(x, y), "y < x + 2"),
    (e.EQ(x + 3, mn(x, y)), "T.bool(False)"),
    (e.EQ(mn(y, x), mn(x, y)), "T.bool(True)"),
]


@pytest.mark.pure
@pytest.mark.parametrize(("before", "text"), WRITTEN)
def test_order_and_place_of_terms(before, text: str) -> None:
    assert str(simple(before)) == text


@pytest.mark.pure
def test_order_of_quotients_is_that_of_the_terms() -> None:
    analyzer = Analyzer()
    for var in (x, y, z):
        analyzer.update(var, ConstIntBound(0, 900), True)
    for before, text in [
        (tdiv(x + y, x), "T.Div(y, x) + 1"),
        (tdiv(y + (x + z), x), "T.Div(y + z, x) + 1"),
        (tdiv(z + x * y, y), "T.Div(z, y) + x"),
        (fld(z + x * y, y), "z // y + x"),
        (tdiv(z + x * 8, 4), "T.Div(z, 4) + x * 2"),
        (tdiv(x + 9, 4) - tdiv(x + 3, 4), "T.Div(T.truncmod(x + 3, 4) + 6, 4)"),
    ]:
        assert str(analyzer.rewrite_simplify(before)) == text


@pytest.mark.pure
def test_quotients_that_bounds_decide() -> None:
    analyzer = Analyzer()
    analyzer.bind(x, Range(0, 3))
    analyzer.bind(y, Range(0, 5))
    analyzer.bind(z, Range(0, 2))
    assert str(analyzer.rewrite_simplify(fld(x * 32 + y, 15))) == "x * 2"
    assert str(analyzer.rewrite_simplify(fld(x * 12 + y * 2 + z, 48))) == "x // 4"
    assert str(analyzer.simplify(fld(x * 12 + y * 2 + z, 48))) == "0"
    free = e.Var("free", "int32")
    assert str(analyzer.rewrite_simplify(fld(free * 12 + y * 2 + z, 48))) == "free // 4"


@pytest.mark.pure
def test_comparisons_at_the_end_of_a_range() -> None:
    analyzer = Analyzer()
    analyzer.bind(x, Range(0, 7))
    for before, text in [
        (x >= 6, "x == 6"),
        (x <= 0, "x == 0"),
        (x != 0, "0 < x"),
        (x != 6, "x < 6"),
        (x + y <= y, "x == 0"),
        (x > 5, "5 < x"),
        (x < 1, "x < 1"),
    ]:
        assert str(analyzer.simplify(e.as_expr(before))) == text


@pytest.mark.pure
@pytest.mark.parametrize(
    ("known", "before", "text"),
    [
        (y <= z, z <= y, "z == y"),
        (y <= z, y != z, "y < z"),
        (y != z, y <= z, "y < z"),
        (y != z, z <= y, "z < y"),
        (y <= 4, e.LE(4, y), "y == 4"),
        (y != 4, y <= 4, "y < 4"),
    ],
)
def test_conditions_leave_less_to_ask(known, before, text: str) -> None:
    analyzer = Analyzer()
    with analyzer.constraint_scope(known):
        assert str(analyzer.simplify(before)) == text


@pytest.mark.pure
def test_rounded_up_logarithms_are_counted() -> None:
    def bits(value):
        return tir.Cast("int32", tir.ceil(tir.log2(tir.Cast("float64", value))))

    for number, count in [(1, 0), (2, 1), (9, 4), (64, 6), (65, 7)]:
        assert Analyzer().simplify(bits(e.IntImm("int32", number))).value == count
    analyzer = Analyzer()
    analyzer.bind(x, Range(0, 60))
    assert analyzer.can_prove(bits(x + 1025) == 11)


@pytest.mark.pure
def test_division_by_zero_stays() -> None:
    for make in (e.FloorDiv, e.FloorMod, e.Div, e.Mod):
        expr = make(e.IntImm("int32", 7), e.IntImm("int32", 0))
        assert simple(expr) is expr


@pytest.mark.pure
def test_same_object_when_nothing_changes() -> None:
    for expr in [x + y, x * 4 + y, fld(x, 4), x < y, tir.Select(x < y, x, y), tir.likely(x < y)]:
        assert simple(expr) is expr


@pytest.mark.pure
def test_spans_are_kept() -> None:
    span = Span(SourceName("net.onnx"), 3, 3, 1, 9)
    assert simple(e.Add(x + 1, e.IntImm("int32", 2), span)).span is span
    assert simple(e.LT(x + 1, y + 3, span)).span is span


@pytest.mark.pure
def test_long_chains() -> None:
    total, least = x, x
    for i in range(5000):
        total = e.Add(total, y if i % 2 else z)
        least = e.Min(least, e.Var(f"v{i}", "int32"))
    assert isinstance(simple(total), e.Add)
    assert isinstance(simple(least), e.Min)
    every = x < 7
    for i in range(5000):
        every = tir.And(every, e.Var(f"v{i}", "int32") < i)
    assert isinstance(simple(every), e.And)
    assert isinstance(Analyzer().canonical_simplify(every), e.And)


def check_seed(seed: int, depth: int) -> None:
    """All forms of simplification keep the value, with and without bounds and facts."""
    source = Source(seed)
    ranges, pick = source.ranges(), source.random.random()
    expr = source.boolean(depth - 1) if pick < 0.3 else source.integer(depth)
    analyzer = Analyzer()
    if source.random.random() < 0.7:
        analyzer.bind_all(ranges)
    fact = source.boolean(1) if source.random.random() < 0.3 else None
    if fact is not None:
        analyzer.enter(fact)
    forms = [analyzer.rewrite_simplify(expr), analyzer.canonical_simplify(expr),
             analyzer.simplify(expr)]  # fmt: skip
    for values in points(ranges):
        try:
            if fact is not None and not evaluate(fact, values):
                continue
            expected = evaluate(expr, values)
        except Undefined:
            continue
        found = [evaluate(form, values) for form in forms]
        assert found == [expected] * 3, f"seed {seed}: {expr} at {values}"


@pytest.mark.slow
@pytest.mark.parametrize("block", few(range(8), 1))
def test_random_expressions(block: int) -> None:
    for seed in range(block * 2500, (block + 1) * 2500):
        check_seed(seed, 3)


@pytest.mark.long
@pytest.mark.parametrize("block", range(100))
def test_very_many_random_expressions(block: int) -> None:
    for seed in range(10**6 + block * 10**4, 10**6 + (block + 1) * 10**4):
        check_seed(seed, 3 + seed % 2)


@pytest.mark.pure
def test_comparisons_with_truth_values_stay() -> None:
    p = tir.Var("p", "bool")
    for value in (True, False):
        compared = tir.EQ(p, tir.const(value, "bool"))
        assert str(simple(compared)) == f"p == T.bool({value})"
    analyzer = Analyzer()
    with analyzer.constraint_scope(p):
        assert str(analyzer.simplify(tir.EQ(p, tir.const(True, "bool")))) == "T.bool(True)"


@pytest.mark.pure
def test_differences_are_decided_by_known_orders() -> None:
    analyzer = Analyzer()
    with analyzer.constraint_scope(y <= x):
        assert analyzer.can_prove(x - y >= 0)
        assert analyzer.can_prove(x - y + 1 > 0)
        assert not analyzer.can_prove(x - y > 0)
    with analyzer.constraint_scope(x - y >= 0):
        assert analyzer.can_prove(y <= x)
        assert analyzer.can_prove(x + 1 > y)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_floats_of_programs_may_be_nan(dtype: str) -> None:
    """Scripts compare expressions; passes over programs keep what asks whether data is NaN."""
    x, i = e.Var("x", dtype), e.Var("i", "int32")
    load = e.BufferLoad(decl_buffer((4,), dtype, "A"), [i])
    whole = e.BufferLoad(decl_buffer((4,), "int32", "A"), [i])
    scripts, programs = Analyzer(), Analyzer()
    programs.rewriter.keeps_nan = True
    for value in (x, load, load * x, e.Cast("float64", load)):
        for kind in (e.EQ, e.NE):
            assert isinstance(scripts.simplify(kind(value, value)), e.IntImm)
            assert isinstance(programs.simplify(kind(value, value)), kind)
    assert programs.can_prove(e.EQ(whole, whole))


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_one_of_two_orders_need_not_hold_of_floats(dtype: str) -> None:
    x, y, c = e.Var("x", dtype), e.Var("y", dtype), e.FloatImm(dtype, 1.0)
    programs = Analyzer()
    programs.rewriter.keeps_nan = True
    for a, b in ((x < y, y <= x), (x <= y, y <= x), (x < y, y < x), (x < c, c <= x)):
        proven = Analyzer().can_prove(e.Or(a, b))
        assert proven or isinstance(Analyzer().simplify(e.Or(a, b)), e.NE)
        assert deep_equal(programs.simplify(e.Or(a, b)), e.Or(a, b))
        second = e.Select(b, e.IntImm("int32", 2), e.IntImm("int32", 3))
        choice = e.Select(a, e.IntImm("int32", 1), second)
        assert deep_equal(programs.simplify(choice), choice)


def test_remainders_by_two_and_by_negated_divisors():
    analyzer = Analyzer()
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    for expr, expected in (
        (x % 2 + (x + 1) % 2, "1"),
        ((x + 3) % 2 + x % 2, "1"),
        ((x - x % (y * -1)) % y, "0"),
        ((y + x * 4) // 2, "x * 2 + y // 2"),
        ((y + x * 4) % 2, "y % 2"),
    ):
        assert str(analyzer.rewrite_simplify(expr)) == expected, expr


@pytest.mark.parametrize(
    "holds",
    [
        e.EQ(tdiv(x, 8) * 8 + tmod(x, 8), x),
        e.EQ(mn(x + y, x), mn(y, 0) + x),
        e.EQ(fld(flm(x, y), y), 0),
        tir.Or(tir.Not(tir.And(x < 5, x < 7)), x < 5),
        tir.Or(tir.Not(e.EQ(mn(x, y), x)), x <= y),
    ],
)
def test_proofs_use_more_than_forms(holds) -> None:
    assert not isinstance(simple(holds), e.IntImm) or isinstance(holds, tir.Or)
    assert Analyzer().can_prove(holds)


def test_what_is_known_in_a_proof_is_not_known_outside() -> None:
    analyzer = Analyzer()
    smaller = mn(x + y, x)
    assert analyzer.can_prove(e.LE(smaller, x))
    assert analyzer.can_prove(e.EQ(smaller, mn(y, 0) + x))
    assert deep_equal(analyzer.simplify(smaller), smaller)


@pytest.mark.parametrize("tile", [2, 64])
@pytest.mark.parametrize("size", [x, x * 16, fld(x + 15, 16) * 16, x + y, mn(x, y)])
def test_sizes_that_are_rounded_up_are_at_least_as_great(size, tile: int) -> None:
    rounded = fld(size + (tile - 1), tile) * tile
    for holds in (
        size <= rounded,
        size < rounded + 1,
        size < fld(size, tile) * tile + tile,
        rounded + z >= size + z,
    ):
        assert Analyzer().can_prove(holds)
        assert str(Analyzer().simplify(holds)) == "T.bool(True)"
    assert not Analyzer().can_prove(x < fld(x + (tile - 1), tile) * tile)


def test_sums_and_literals_that_a_quotient_does_not_part() -> None:
    """(x - z) // 1 < 2 is what x * 4 - z * 4 < 6 becomes, which is not to become that again."""
    x, z, n = (tir.Var(name, "int64") for name in "xzn")
    for expr in (x * 4 - z * 4 >= 6, 16 <= z * 4 - n * 4,
                 x * -4 - n * 8 >= 8, x * -4 - z * 4 >= -4):  # fmt: skip
        for simplify in (Analyzer().simplify, Analyzer().rewrite_simplify):
            found = simplify(expr)
            for values in ({x: 5, z: 2, n: -1}, {x: 1, z: -3, n: -7}, {x: 0, z: 0, n: 0}):
                consts = {var: tir.const(value, "int64") for var, value in values.items()}
                truth = [Analyzer().simplify(substitute(e, consts)) for e in (expr, found)]
                assert bool(truth[0]) == bool(truth[1]), f"{expr} -> {found}"


def test_literals_of_narrow_floats_stay() -> None:
    for dtype in ("float16", "bfloat16"):
        a, b, zero = (e.FloatImm(dtype, v) for v in (7.0, 2.0, 0.0))
        for kind in (e.Add, e.Sub, e.Mul, e.Div):
            assert isinstance(Analyzer().simplify(kind(a, b)), kind)
        assert str(Analyzer().simplify(e.Mul(zero, a))) == f"T.{dtype}(0.0)"
        assert str(Analyzer().simplify(e.LT(b, a))) == "T.bool(True)"
    wide = e.Mul(e.FloatImm("float32", 7.0), e.FloatImm("float32", 2.0))
    assert str(Analyzer().simplify(wide)) == "T.float32(14.0)"
