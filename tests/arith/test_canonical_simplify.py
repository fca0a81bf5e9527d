"""Simplification of sums."""

from __future__ import annotations

import random

import pytest

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.arith.deep_equal import deep_equal
from tvm.ir import Range
from tvm.tir import expr as e

pytestmark = pytest.mark.pure
x, y, z = (e.Var(n, "int32") for n in "xyz")
i, j = e.Var("i", "int64"), e.Var("j", "int64")
fld, flm, tdiv, tmod = tir.floordiv, tir.floormod, tir.truncdiv, tir.truncmod

FORMS = [
    (2 + (3 * x + z + y + 1) * 4 + x, x * 13 + z * 4 + y * 4 + 6),
    (x * 3 - 4 * x + 1, 1 - x),
    (x - y - 3, x - y - 3),
    (y + x * 5 - 5 * x, y),
    (fld(x + y + x + y * 3, 2), y * 2 + x),
    (flm(x + y + x + y * 3, 2), e.IntImm("int32", 0)),
    (fld(x + x + y * 3, 2), fld(y * 3, 2) + x),
    (fld(x, 3) * 3 + flm(x, 3), x),
    (fld(x, 6) * 6 + flm(fld(x, 3), 2) * 3 + flm(x, 3), x),
    (tdiv(x, 6) * 6 + tmod(tdiv(x, 3), 2) * 3 + tmod(x, 3), x),
    (x - fld(x, 4) * 4, flm(x, 4)),
    (fld(fld(flm(x, 16), 2) * 2, 4), fld(flm(x, 16), 4)),
    (tdiv(tdiv(tmod(x, 16), 2) * 2, 6), tdiv(tmod(x, 16), 6)),
    (fld(flm(x, 2), 8), e.IntImm("int32", 0)),
    (fld(17 + 48 * x, 16), x * 3 + 1),
    (flm(17 + 48 * x, 16), e.IntImm("int32", 1)),
    (fld(17 + 47 * x, 16), fld(x * 47 + 17, 16)),
    (flm(flm(x * 4 + y - 466036, 24528) - 24512, 16), flm(x * 4 + y + 12, 16)),
    (flm(flm(x * 4, 16), 8), flm(x, 2) * 4),
]


n = e.Var("n", "int32")
WRITTEN = [
    ((x * 3 + n * 3) * y, "(x * 3 + n * 3) * y"),
    ((x + n) * 3 * y, "(x * 3 + n * 3) * y"),
    (x * 3 * (y * 2), "x * y * 6"),
    (flm(fld(x, 7) * (-1), 5), "x % -35 // 7 * -1"),
    (tmod(tmod(x, 7) * (-1), 5), "T.truncmod(T.truncmod(x, 7) * -1, 5)"),
    (x <= x * 5 - 2, "1 <= x"),
    (flm(x * 6 + y * 11, 6), "y * 11 % 6"),
    (flm(-x, 7), "x % -7 * -1"),
    (tmod(-x, 7), "T.truncmod(x, -7) * -1"),
    (fld(-x, 7), "x // -7"),
    (tdiv(-x, 7), "T.Div(x, -7)"),
    (fld(x * (-3) - y, 7) + 2, "(0 - y - x * 3) // 7 + 2"),
    (flm(-x - y, 7), "(0 - x - y) % 7"),
    (fld(0 - x, 7), "(0 - x) // 7"),
    (fld(x * (-3), 12), "x // -4"),
    (flm(x * (-3), 12), "x % -4 * -3"),
    (tmod(x * (-3), 12), "T.truncmod(x, -4) * -3"),
    (fld(x * (-3), 7), "x * -3 // 7"),
    (flm(x * (-9), 4), "x * -9 % 4"),
    (fld(fld(x, 3) * (-2), 4), "x // -6"),
    (fld(x * (-6), 2), "x * -3"),
    (fld(x + y, 7) * (-2), "0 - (x + y) // 7 * 2"),
    (flm(x + y, 7) * (-2), "(x + y) % 7 * -2"),
    (fld(flm(x + y, 30), 6), "(x + y) % 30 // 6"),
    (fld(flm(x * 12 + y, 30), 6) * 6 + flm(x * 12 + y, 6), "(x * 12 + y) % 30"),
    (flm(x * 5 + y - 9, 12), "(x * 5 + y + 3) % 12"),
    (flm(flm(x * 5 + y - 9, 60) - 7, 12), "((x * 5 + y + 51) % 60 + 5) % 12"),
    (x - 5 < 6, "x < 11"),
    (x - 5 <= 6, "x <= 11"),
    (x - 5 == 6, "x == 11"),
    (x <= y - 1, "x < y"),
    (x - 4 <= y, "x <= y + 4"),
    # a factor is taken out of both sides, or of one sum where literals move
    (x * 16 <= n * 64 + 16, "x <= n * 4 + 1"),
    (x * 16 + 8 <= n * 64, "x < n * 4"),
    (x * 4 + 3 <= n * 8 + 1, "1 < n * 4 - x * 2"),
    (x * 3 <= x * 5 - 2, "1 <= x"),
    (x * 4 + y * 2 <= 15, "x * 4 + y * 2 < 15"),
    (x * 4 + y * 2 >= 2, "1 <= x * 2 + y"),
    (x * 4 + y * 6 <= n * 2 + 1, "y * 3 + x * 2 <= n"),
    (x * 16 <= fld(x * 16 + 63, 64) * 64, "T.bool(True)"),
    (x * (-10) + n * 5 < 35, "n - x * 2 < 7"),
    (flm(x * 10 * x, x), "0"),
    (flm(x * 10 * x, x * n), "x * 10 % n * x"),
    (tmod(x * 10 * x, x * n), "T.truncmod(x * 10, n) * x"),
    (fld(x * 4 * x * n, 8 * x * x * x), "n // (x * 2)"),
    (tdiv(x * (4 * y) * 3, 3 * y), "x * 4"),
    (fld(x * (4 * y) * 3, 3 * y * n), "x * 4 // n"),
    (x * (y * 2) * n * 3, "x * y * n * 6"),
    (tir.Select(x >= 9, tir.if_then_else(tdiv(x, 3) > 2, y, 0), 0), "T.Select(9 <= x, y, 0)"),
    (tir.Select(x >= 9, tir.if_then_else(tdiv(x, 3) < 3, y, 0), 0), "0"),
    (
        tir.if_then_else(x * 3 >= 400 - y, tmod(tmod(x * 3 + y - 400, 24), 4), y),
        "T.if_then_else(400 <= x * 3 + y, T.truncmod(x * 3 + y, 4), y)",
    ),
]


@pytest.mark.parametrize(("before", "text"), WRITTEN)
def test_written_forms(before, text: str) -> None:
    assert str(Analyzer().canonical_simplify(before)) == text


def test_small_terms_of_comparisons_are_absorbed() -> None:
    analyzer = Analyzer()
    analyzer.bind(y, Range(0, 128))
    assert str(analyzer.canonical_simplify(x * 128 + y < n * 256)) == "x - n * 2 < 0"
    assert str(analyzer.canonical_simplify(x * 128 + y < n * 256 + 384)) == "x - n * 2 < 3"
    assert str(analyzer.canonical_simplify(x * 128 + y + 384 < n * 256)) == "x + 3 - n * 2 < 0"
    for kept in (x * 128 - y < 1025, x * 128 + y < 1000, tir.LE(128, x * 128 + y)):
        assert str(analyzer.canonical_simplify(kept)) == str(kept)


@pytest.mark.parametrize(
    "condition",
    [x + -3 <= y, x - 3 < y, x <= y - 3, x > y - 3, x + 2 >= y, x * 2 < 7, x - y < 3, x != y - 2],
)
def test_comparisons_have_one_form(condition) -> None:
    analyzer = Analyzer()
    found = analyzer.canonical_simplify(condition)
    assert deep_equal(found, analyzer.simplify(condition)), found


def test_reductions() -> None:
    k = te.reduce_axis((0, 6), "k")
    a = te.placeholder((6,), name="a")
    canonical = Analyzer().canonical_simplify
    assert str(canonical(te.sum(tdiv(k, 9), k)).source[0]) == "0"
    assert str(canonical(te.sum(tir.Select(k < 7, k * 3, 0), k)).source[0]) == "k * 3"
    assert str(canonical(te.sum(a[1], []))) == "a[1]"
    either = canonical(te.sum(a[1], [], where=n > 2, init=5.0))
    assert str(either) == "T.Select(2 < n, T.float32(5.0) + a[1], T.float32(5.0))"


def test_reductions_keep_the_parts_in_use() -> None:
    k = te.reduce_axis((0, 6), "k")
    a = te.placeholder((6,), name="a")
    both = te.comm_reducer(
        lambda p, q: (p[0] + q[0], p[1] * q[1], p[2] + q[2] * p[1]),
        lambda *types: [tir.const(i, t) for i, t in enumerate((types[0], types[1], types[2]))],
    )
    parts = both((a[k], a[k] * 2.0, a[k]), axis=k)
    canonical = Analyzer().canonical_simplify
    alone = canonical(parts[1])
    assert (len(alone.source), alone.value_index) == (1, 0)
    assert [v.name for v in (*alone.combiner.lhs, *alone.combiner.rhs)] == ["p_1", "q_1"]
    needed = canonical(parts[2])
    assert (len(needed.source), needed.value_index) == (2, 1)
    chosen = te.comm_reducer(
        lambda p, q: tir.Select(n < 3, p + q, p * q),
        lambda t: tir.Select(n < 3, tir.const(0, t), tir.const(1, t)),
    )
    analyzer = Analyzer()
    analyzer.bind(n, Range(-4, 2))
    made = analyzer.canonical_simplify(chosen(k.var, axis=k)).combiner
    assert (str(made.result[0]), made.identity_element[0].value) == ("p + q", 0)


@pytest.mark.parametrize(("before", "after"), FORMS)
def test_forms(before, after) -> None:
    found = Analyzer().canonical_simplify(before)
    assert deep_equal(found, after), f"{before} became {found}, not {after}"


def test_truncation_needs_a_sign() -> None:
    expr = tdiv(x * 4 + y, 4)
    assert deep_equal(Analyzer().canonical_simplify(expr), expr)
    analyzer = Analyzer()
    analyzer.bind(x, Range(0, 10))
    analyzer.bind(y, Range(0, 10))
    assert deep_equal(analyzer.canonical_simplify(expr), tdiv(y, 4) + x)


def test_small_terms_leave_comparisons() -> None:
    analyzer = Analyzer()
    analyzer.bind(y, Range(0, 64))
    assert deep_equal(analyzer.canonical_simplify(x * 64 + y < 1024), x < 16)
    assert deep_equal(analyzer.canonical_simplify(x * 64 + y < 1000), x * 64 + y < 1000)


def test_casts_go_inward_where_nothing_is_lost() -> None:
    wide = e.Cast("int64", x + y + 1) - e.Cast("int64", x)
    expected = e.Cast("int64", y) + e.IntImm("int64", 1)
    assert deep_equal(Analyzer().canonical_simplify(wide), expected)
    narrow = e.Cast("int32", i + j) - e.Cast("int32", i)
    assert deep_equal(Analyzer().canonical_simplify(narrow), narrow)
    analyzer = Analyzer()
    analyzer.bind(i, Range(0, 1000))
    analyzer.bind(j, Range(0, 1000))
    assert deep_equal(analyzer.canonical_simplify(narrow), e.Cast("int32", j))


def test_smallest_integer() -> None:
    least = tir.min_value("int32")
    found = Analyzer().canonical_simplify(e.EQ(least - x, e.IntImm("int32", 0)))
    assert deep_equal(found, e.EQ(x, least))


def test_same_object_when_nothing_changes() -> None:
    for expr in [x + y, x * 4 + y, fld(x, 4), fld(x, 4) * 4 + y, x < y]:
        assert Analyzer().canonical_simplify(expr) is expr


def test_long_sums() -> None:
    total = x
    for k in range(5000):
        total = e.Add(total, e.Mul(y if k % 2 else z, e.IntImm("int32", 1 + k % 3)))
    found = Analyzer().canonical_simplify(total)
    assert deep_equal(found, y * sum([1 + k % 3 for k in range(1, 5000, 2)])
                      + z * sum([1 + k % 3 for k in range(0, 5000, 2)]) + x)  # fmt: skip
    many = x
    for k in range(5000):
        many = e.Add(many, e.Var(f"v{k}", "int32"))
    assert isinstance(Analyzer().simplify(many), e.Add)


def test_facts_in_branches() -> None:
    expr = tir.Select(x < 3, tir.min(x, 5) + y - y, z)
    assert deep_equal(Analyzer().simplify(expr), tir.Select(x < 3, x, z))


def test_quotients_and_remainders_meet_again() -> None:
    """Also where the remainder was simplified by itself, to other terms or to a literal."""
    source, proven = random.Random(5), 0
    for _ in range(150):
        names = [e.Var(name, "int32") for name in "ijkl"[: source.randint(1, 4)]]
        total = e.IntImm("int32", source.choice([0, 0, 1, 8, -3]))
        for name in names:
            total = total + name * source.choice([2, 4, 6, 8, 12, 16])
        divisor = source.choice([2, 4, 8, 16])
        analyzer = Analyzer()
        for name in names:
            analyzer.bind(name, Range(0, source.choice([2, 4, 16, 33])))
        digits = fld(total, divisor) * divisor + flm(total, divisor)
        proven += analyzer.can_prove_equal(digits, total)
        outer = divisor * 3
        rest = flm(total, outer)
        digits = fld(total, outer) * outer + fld(rest, divisor) * divisor + flm(total, divisor)
        proven += analyzer.can_prove_equal(digits, total)
    assert proven >= 285, "of 300"


def test_remainder_of_a_shifted_sum():
    """Neither sum can be negative: the shift counts modulo the divisor."""
    analyzer = Analyzer()
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    with analyzer.constraint_scope(x * 3 + y >= 1003):
        inner = tir.truncmod(x * 3 + y - 1003, 100)
        assert str(analyzer.canonical_simplify(inner)) == "T.truncmod(x * 3 + y - 3, 100)"
        choice = tir.if_then_else(inner >= 90, tir.truncmod(inner - 90, 10), x)
        assert str(analyzer.canonical_simplify(choice)) == (
            "T.if_then_else(90 <= T.truncmod(x * 3 + y - 3, 100), "
            "T.truncmod(x * 3 + y - 3, 10), x)"
        )
    kept = tir.truncmod(x * 3 + y - 1003, 100)
    assert str(analyzer.canonical_simplify(kept)) == "T.truncmod(x * 3 + y - 1003, 100)"
    analyzer.bind(x, Range(1, 500))
    for shift, left in ((203, "x + 3"), (-203, "x - 203")):
        found = analyzer.canonical_simplify(tir.truncmod(x + shift, 100))
        assert str(found) == f"T.truncmod({left}, 100)"


def test_operands_that_bounds_decide_fold() -> None:
    analyzer = Analyzer()
    analyzer.bind(x, Range(0, 16))
    found = analyzer.canonical_simplify(flm(fld(tir.Max(tir.const(16, "int32"), x), 8), 8) * y)
    assert str(found) == "y * 2"
