"""Sets with symbolic ends."""

from __future__ import annotations

import pytest

from tests.arith.fuzz import Source, Undefined, evaluate, points
from tvm import tir
from tvm.arith import (
    Analyzer,
    IntervalSet,
    IntSet,
    PresburgerSet,
    neg_inf,
    pos_inf,
    union_lower_bound,
)
from tvm.arith.interval_set import NOTHING, eval_set, intersect, union
from tvm.error import TVMError
from tvm.ir import Range
from tvm.tir import expr as e

pytestmark = pytest.mark.pure
x, y, z, n = (e.Var(name, "int32") for name in "xyzn")
fld, flm = tir.floordiv, tir.floormod


def ends(found: IntSet) -> tuple[str, str]:
    assert isinstance(found, IntervalSet)
    return str(found.min_value), str(found.max_value)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (x * 4 + y, ("0", "31")),
        (x * 4 + n, ("n", "n + 28")),
        (10 - x, ("3", "10")),
        (x * -2, ("-14", "0")),
        (fld(x, 2) * 3, ("0", "9")),
        (flm(x, 4), ("0", "3")),
        (flm(x * 4 + 1, 8), ("0", "5")),
        (flm(x * (-4), 8), ("0", "4")),
        (flm(x + 4, 16), ("4", "11")),
        (tir.truncmod(x, 3), ("0", "2")),
        (tir.min(x, 3), ("0", "3")),
        (tir.max(x, 3), ("3", "7")),
        (tir.Select(x > 2, x, y + 9), ("0", "12")),
        (e.Cast("int64", x), ("T.int64(0)", "T.int64(7)")),
        (e.Ramp(x, 1, 4), ("0", "10")),
        (e.Broadcast(x, 4), ("0", "7")),
        (x < 8, ("T.bool(True)", "T.bool(True)")),
        (x < 4, ("T.bool(False)", "T.bool(True)")),
        (tir.if_then_else(n > 0, x, 9), ("neg_inf", "pos_inf")),
        (n * x, ("T.Select(0 <= n, 0, n * 7)", "T.Select(0 <= n, n * 7, 0)")),
        (e.Let(z, x + 1, z * 2), ("2", "16")),
        (n + 1, ("n + 1", "n + 1")),
    ],
)
def test_eval(expr, expected) -> None:
    assert ends(eval_set(expr, {x: Range(0, 8), y: Range(0, 4)})) == expected


def test_infinite_ends() -> None:
    sets = {x: IntervalSet(0, pos_inf())}
    assert eval_set(x * 2 + 1, sets).max_value is pos_inf()
    assert eval_set(0 - x, sets).min_value is neg_inf()
    assert eval_set(x * y, {**sets, y: IntervalSet(neg_inf(), 3)}).is_everything()
    assert NOTHING.is_nothing()
    assert not IntSet.single_point(3).is_nothing()
    assert ends(IntSet.vector(e.Ramp(x, 2, 4))) == ("x", "x + 6")


def test_ends_that_name_other_variables() -> None:
    sets = {x: Range.from_min_extent(y * 4, 4), y: Range(0, 8)}
    assert ends(eval_set(x, sets)) == ("0", "31")
    assert ends(eval_set(Range.from_min_extent(y * 4, 4), {y: Range(0, 8)})) == ("0", "31")


def test_union_and_intersection() -> None:
    a, b = IntervalSet(0, 4), IntervalSet(3, 9)
    assert ends(union([a, b])) == ("0", "9")
    assert ends(intersect([a, b])) == ("3", "4")
    assert intersect([IntervalSet(0, 1), IntervalSet(3, 4)]).is_nothing()
    assert ends(union_lower_bound([a, IntervalSet(5, 7)])) == ("0", "7")
    assert ends(union_lower_bound([a, IntervalSet(9, 12)])) == ("0", "4")
    assert union_lower_bound([]).is_nothing()
    with pytest.raises(TVMError, match="legal: intervals"):
        union([PresburgerSet()])


def test_presburger() -> None:
    assert PresburgerSet((x,), (tir.all(x < 3, x > 5),)).is_nothing()
    assert not PresburgerSet((x,), (x < 3,)).is_nothing()


def test_remainders_within_one_period() -> None:
    analyzer = Analyzer()
    analyzer.bind(x, Range(0, 2))
    found = analyzer.int_set(flm(y, 8), {y: IntervalSet(z * 8 + x * 4, z * 8 + x * 4 + 3)})
    assert ends(found) == ("x * 4", "x * 4 + 3")


def test_remainders_by_a_negative_number() -> None:
    assert ends(Analyzer().int_set(flm(x, -3), {x: IntervalSet(0, 9)})) == ("-2", "0")


@pytest.mark.parametrize(("high", "expected"), [(40000, ("0", "1600000000")), (50000, None)])
def test_products_that_leave_their_type_are_unknown(high: int, expected) -> None:
    found = Analyzer().int_set(x * y, {x: IntervalSet(0, high), y: IntervalSet(0, high)})
    assert ends(found) == (expected or ("neg_inf", "pos_inf"))


def test_analyzer_uses_its_ranges() -> None:
    analyzer = Analyzer()
    analyzer.bind(x, Range(0, n))
    assert ends(analyzer.int_set(x * 2)) == ("0", "n * 2 - 2")
    assert ends(analyzer.int_set(x * 2, {x: IntervalSet(0, 3)})) == ("0", "6")


def test_long_sums() -> None:
    total = x
    for _ in range(5000):
        total = e.Add(total, y)
    assert ends(eval_set(total, {x: Range(0, 2), y: Range(0, 2)})) == ("0", "5001")


def test_intervals_hold_for_random_expressions() -> None:
    for seed in range(500):
        source = Source(seed)
        ranges, expr = source.ranges(), source.integer(3)
        found = eval_set(expr, ranges)
        for values in points(ranges):
            try:
                expected = evaluate(expr, values)
                if found.has_lower_bound():
                    assert evaluate(found.min_value, values) <= expected, f"seed {seed}"
                if found.has_upper_bound():
                    assert expected <= evaluate(found.max_value, values), f"seed {seed}"
            except Undefined:
                continue


def test_other_domains_are_refused() -> None:
    with pytest.raises(TypeError, match="a Range or an IntSet"):
        Analyzer().int_set(x + 1, {x: 3})


def test_remainders_by_a_positive_symbol() -> None:
    analyzer = Analyzer()
    analyzer.bind(n, Range(1, 90))
    for divided in (tir.truncmod(x, n), flm(x, n)):
        assert ends(analyzer.int_set(divided, {x: IntervalSet(0, 30)})) == ("0", "n - 1")


def test_ramps_of_any_length() -> None:
    up = IntSet.vector(e.Ramp(5, 3, tir.vscale() * 4))
    assert (str(up.min_value), up.has_upper_bound()) == ("5", False)
    down = IntSet.vector(e.Ramp(5, -3, tir.vscale() * 4))
    assert (str(down.max_value), down.has_lower_bound()) == ("5", False)


@pytest.mark.parametrize(
    ("dtype", "domain", "expected"),
    [
        ("uint8", (-7, 19), ("neg_inf", "pos_inf")),  # -7 is 249 there
        ("int8", (0, 300), ("neg_inf", "pos_inf")),
        ("uint8", (0, n), ("neg_inf", "pos_inf")),
        ("uint8", (3, 19), ("T.uint8(3)", "T.uint8(19)")),
        ("int64", (-7, n), ("T.int64(-7)", 'T.Cast("int64", n)')),
    ],
)
def test_casts_keep_ends_that_the_new_type_has(dtype: str, domain, expected) -> None:
    assert ends(Analyzer().int_set(e.Cast(dtype, x), {x: IntervalSet(*domain)})) == expected


def test_what_calls_and_floats_give_is_anything() -> None:
    table, floats = (tir.decl_buffer((8,), d, name="t") for d in ("int32", "float32"))
    call = tir.if_then_else(x < 2, x, x + 1)
    for expr in (call, call + 1, call + n, 5 - call, tir.Cast("int32", floats[x]) + 1):
        assert ends(Analyzer().int_set(expr, {})) == ("neg_inf", "pos_inf")
    # what is read as an integer is one element
    assert ends(Analyzer().int_set(table[x] + 1, {})) == ("t[x] + 1", "t[x] + 1")
    picked = tir.Select(x < 2, x, x + 1) + 1
    assert ends(Analyzer().int_set(picked, {})) == ("x + 1", "x + 2")
    truth = tir.Cast("int32", x < 3) + 1
    assert ends(Analyzer().int_set(truth, {x: IntervalSet(0, 7)})) == ("1", "2")


def test_divisors_of_unknown_sign() -> None:
    dom = {x: IntervalSet(-5, 7)}
    assert ends(Analyzer().int_set(fld(x, n), dom)) == (
        "T.Select(0 <= n, -5 // n, 7 // n)", "T.Select(0 <= n, 7 // n, -5 // n)",
    )  # fmt: skip
    low, high = ends(Analyzer().int_set(flm(x, n), dom))
    assert high == "T.Select(0 <= n, n, 0 - n) - 1"
    assert low == "1 - T.Select(0 <= n, n, 0 - n)"
