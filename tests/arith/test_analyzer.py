"""The analyzer as its users see it."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.arith import Analyzer, ConstIntBound, Extension, ProofStrength
from tvm.arith.deep_equal import deep_equal
from tvm.error import TVMError
from tvm.ir import Range
from tvm.tir import expr as e

pytestmark = pytest.mark.pure
x, y, z, n = (e.Var(name, "int32") for name in "xyzn")


def test_bind_value() -> None:
    analyzer = Analyzer()
    analyzer.bind(x, y * 4)
    assert deep_equal(analyzer.simplify(x + 1), y * 4 + 1)
    assert analyzer.modular_set(x).coeff == 4
    assert analyzer.const_int_bound_is_bound(x)
    assert not analyzer.const_int_bound_is_bound(y)


def test_bind_range() -> None:
    analyzer = Analyzer()
    analyzer.bind(x, Range(3, 8))
    assert repr(analyzer.const_int_bound(x)) == "ConstIntBound[3,7]"
    analyzer.bind(y, Range.from_min_extent(x, 1))
    assert analyzer.can_prove(y == x)


def test_binding_twice() -> None:
    analyzer = Analyzer()
    analyzer.bind(x, Range(0, 8))
    analyzer.bind(x, Range(0, 8))
    with pytest.raises(TVMError, match=r"x is bound already to \[0, 7\]"):
        analyzer.bind(x, Range(0, 9))
    analyzer.bind(x, Range(0, 9), allow_override=True)
    assert analyzer.const_int_bound(x).max_value == 8
    with pytest.raises(TypeError, match="Do not know how to handle type"):
        analyzer.update(x, 3)


def test_constraint_scope() -> None:
    analyzer = Analyzer()
    with analyzer.constraint_scope(tir.all(x < y, tir.floormod(n, 16) == 0)):
        assert analyzer.can_prove(x <= y)
        assert analyzer.can_prove(tir.floormod(n * 2, 32) == 0)
        assert deep_equal(analyzer.simplify(tir.floordiv(n, 16) * 16), n)
        with analyzer.constraint_scope(y < z):
            assert not analyzer.can_prove(x < z), "facts are joined where that is asked for"
            analyzer.enabled_extensions = Extension.TransitivelyProveInequalities
            assert analyzer.can_prove(x < z)
        assert not analyzer.can_prove(x < z)
    assert not analyzer.can_prove(x <= y)


def test_known_conditions_are_decided() -> None:
    analyzer = Analyzer()
    b = e.Var("b", "bool")
    with analyzer.constraint_scope(tir.And(b, x != y)):
        assert analyzer.can_prove(b)
        assert analyzer.can_prove(y != x)
        assert analyzer.simplify(e.EQ(x, y)).value == 0
        assert deep_equal(analyzer.simplify(tir.Or(e.EQ(x, y), z < 3)), z < 3)


def test_proofs() -> None:
    analyzer = Analyzer()
    analyzer.bind(x, Range(0, 16))
    analyzer.bind(y, Range(0, 4))
    assert analyzer.can_prove(x * 4 + y < 64)
    assert not analyzer.can_prove(x * 4 + y < 63)
    assert analyzer.can_prove(True)
    assert not analyzer.can_prove(False)
    assert analyzer.can_prove_equal(x * 4 + y - x * 4, y)
    assert not analyzer.can_prove_equal(x, y)
    assert analyzer.can_prove_equal(4, 4)
    assert analyzer.can_prove_greater_equal(x + 3, 3)
    assert not analyzer.can_prove_greater_equal(x + 3, 4)
    assert analyzer.can_prove_less(x, 16)
    assert not analyzer.can_prove_less(x, 15)


def test_symbolic_bounds() -> None:
    analyzer = Analyzer()
    analyzer.bind(x, Range(0, n))
    assert not analyzer.can_prove(n > 0), "ranges are joined with facts where that is asked for"
    assert analyzer.can_prove(x < n, ProofStrength.SYMBOLIC_BOUND)
    assert analyzer.can_prove(x * 4 + 3 < n * 4, ProofStrength.SYMBOLIC_BOUND)
    assert not analyzer.can_prove(x * 4 + 4 < n * 4, ProofStrength.SYMBOLIC_BOUND)


def test_simplify_steps() -> None:
    analyzer = Analyzer()
    expr = (x * 2 + y) * 2 + 1 - x * 4
    assert deep_equal(analyzer.simplify(expr, steps=0), expr)
    assert deep_equal(analyzer.simplify(expr), y * 2 + 1)
    assert analyzer.simplify(7).value == 7


def test_simplify_sums_first() -> None:
    o = tir.Var("o", "int64")
    start = o * 2 - 1
    covered = tir.Min(start + 1, tir.const(111, "int64")) - (start + tir.Max(0 - start, 0 * o)) + 1
    text = str(Analyzer().simplify(covered))
    assert text == (
        "T.min(o * T.int64(2), T.int64(111)) + T.int64(2) "
        "- T.max(T.int64(1) - o * T.int64(2), T.int64(0)) - o * T.int64(2)"
    )


def test_extensions() -> None:
    analyzer = Analyzer()
    assert analyzer.enabled_extensions == Extension.NoExtensions
    analyzer.enabled_extensions = Extension.TransitivelyProveInequalities
    assert analyzer.enabled_extensions == Extension(1)
    analyzer.bind(x, Range(0, n))
    assert analyzer.can_prove(x < n)


def test_shapes_are_at_least_one() -> None:
    size = e.SizeVar("m", "int32")
    analyzer = Analyzer()
    assert analyzer.can_prove(size >= 0)
    assert analyzer.can_prove_less_equal_than_symbolic_shape_value(e.IntImm("int32", 0), size)
    assert analyzer.can_prove_less_equal_than_symbolic_shape_value(e.IntImm("int32", 4), size * 4)


def test_numbers_do_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tvm.arith.analyzer.MAX_NUMBERS", 50)
    analyzer = Analyzer()
    for k in range(100):
        v = e.Var(f"v{k}", "int32")
        assert deep_equal(analyzer.simplify(v + x + k - x), v + k)
    assert len(analyzer.numbers) < 100


def test_bounds_can_be_widened() -> None:
    analyzer = Analyzer()
    analyzer.update(x, ConstIntBound(2, 5))
    analyzer.update(x, ConstIntBound(0, 9), override=True)
    assert analyzer.const_int_bound(x).max_value == 9


def test_steps_are_counted_and_limited() -> None:
    analyzer = Analyzer()
    analyzer.rewrite_simplify(x + y - y + (x - x))
    stats = analyzer.rewrite_simplify_stats
    assert 0 < stats.rewrites_performed <= stats.rewrites_attempted
    assert stats.nodes_visited >= 4
    assert stats.max_recursive_depth > 0
    assert str(stats).startswith("RewriteSimplifierStats(nodes_visited = ")
    with analyzer.constraint_scope(x > 3):
        assert analyzer.rewrite_simplify_stats.constraints_entered == 1
    analyzer.reset_rewrite_simplify_stats()
    assert analyzer.rewrite_simplify_stats.rewrites_performed == 0
    analyzer.set_maximum_rewrite_steps(1)
    with pytest.raises(TVMError, match="more than 1 rewriting steps"):
        analyzer.rewrite_simplify(x * 2 + y * 3 - y * 3 - x * 2 + (x - 1) + (2 - y))


def test_vectors_have_values_and_bounds():
    analyzer, lanes = Analyzer(), tir.Var("lanes", "int32x4")
    analyzer.bind(lanes, tir.Ramp(2, 1, 4))
    assert analyzer.const_int_bound(lanes).max_value == 5
    assert lanes not in analyzer.ranges


@pytest.mark.parametrize(("ask", "words"), [
    (lambda a: a.bind("x", 3), r"bind: the variable is a str: 'x'; legal: Var"),
    (lambda a: a.bind(x, "abc"), r"bind: the value of x \(int32\) is .*legal: a number"),
    (lambda a: a.bind_domain(x, 3), r"bind_domain: the range is a int: 3; legal: Range"),
    (lambda a: a.bind_all([x]), r"bind_all: the variables is a list.*legal: Mapping"),
    (lambda a: a.update(x, 3), r"update: Do not know how to handle type .*legal: ConstIntBound"),
    (lambda a: a.update(3, ConstIntBound(0, 1)), r"update: the variable is a int: 3"),
    (lambda a: a.const_int_bound_is_bound([x]), r"the variable is a list"),
    (lambda a: a.can_prove_less(x, "y"), r"can_prove_less: the bound is a str: 'y'; legal: int"),
    (lambda a: a.can_prove_greater_equal(None, 1), r"cannot convert a NoneType to an expression"),
    (lambda a: a.can_prove(x < 1, "much"), r"can_prove: the strength is a str"),
    (lambda a: a.simplify(x, "twice"), r"simplify: the number of steps is a str"),
    (lambda a: a.int_set(x, 3), r"int_set: the domains is a int: 3; legal: Mapping"),
])  # fmt: skip
def test_arguments_of_other_kinds_are_named(ask, words) -> None:
    with pytest.raises(TypeError, match=words):
        ask(Analyzer())


def test_plain_numbers_are_expressions() -> None:
    analyzer = Analyzer()
    assert analyzer.can_prove_less(3, 5)
    assert not analyzer.can_prove_greater_equal(3, 5)
    assert analyzer.can_prove_less_equal_than_symbolic_shape_value(4, x * 4)
    assert str(analyzer.int_set(3)) == "IntervalSet[3, 3]"
