"""Linear equations, clipping bounds, common parts."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.arith import detect_clip_bound, detect_common_subexpr, detect_linear_equation
from tvm.tir import expr as e

pytestmark = pytest.mark.pure
a, b, n = (e.Var(name, "int32") for name in "abn")


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (a * 4 + b * 6 + 7, ["4", "6", "7"]),
        (a * n - b, ["n", "-1", "0"]),
        (b * 7, ["0", "7", "0"]),
        ((a + b) * 3 - a, ["2", "3", "0"]),
        (n + 1, ["0", "0", "n + 1"]),
        (n * 4 + 3 + 2, ["0", "0", "n * 4 + 3 + 2"]),
        (4 * n, ["0", "0", "4 * n"]),
        ((a + n) * (-3), ["-3", "0", "-3 * n"]),
        ((a + n) * (n + 1), ["n + 1", "0", "(n + 1) * n"]),
        (a * n * 6, ["6 * n", "0", "0"]),
        (n - n * 3 - a, ["-1", "0", "n - n * 3"]),
        (a * b, []),
        (a * a, []),
        (tir.floordiv(a, 4), []),
        (tir.min(a, b), []),
    ],
)
def test_linear(expr, expected) -> None:
    assert [str(part) for part in detect_linear_equation(expr, [a, b])] == expected


def test_linear_without_variables() -> None:
    assert [str(part) for part in detect_linear_equation(b * 7, [])] == ["b * 7"]


def test_clip() -> None:
    found = detect_clip_bound(tir.all(a * 1 < b * 6, a - 1 > 0), [a])
    assert [str(part) for part in found] == ["2", "b * 6 - 1"]
    only = detect_clip_bound(a >= 3, [a])
    assert str(only[0]) == "3"
    assert only[1] is None
    both = detect_clip_bound(tir.all(a < 9, a <= n, e.EQ(b, n)), [a, b])
    assert [str(part) for part in both[1:]] == ["T.min(8, n)", "n", "n"]
    for cond in (a + b < 3, a * 2 < b, tir.Or(a < 3, a > 4), a * a < 3):
        assert detect_clip_bound(cond, [a, b]) == []


def test_clip_skips_what_always_holds() -> None:
    rest = n % 4 <= 9
    found = detect_clip_bound(tir.all(rest, a < 7), [a])
    assert found[0] is None
    assert str(found[1]) == "6"
    assert detect_clip_bound(rest, [a]) == []


def test_common_parts() -> None:
    expr = (a + b) * 3 + tir.floordiv(a + b, 4) * (a + b) + tir.floordiv(a + b, 4)
    found = {str(part): count for part, count in detect_common_subexpr(expr, 2).items()}
    assert found == {"(a + b) // 4": 2, "a + b": 2}, "what lies in a larger part is not counted"
    assert detect_common_subexpr(a + b, 2) == {}


def test_one_variable_is_no_list() -> None:
    with pytest.raises(TypeError, match="legal: a list of variables"):
        detect_linear_equation(a + 1, a)


def test_coefficients_have_signs() -> None:
    u = e.Var("u", "uint32")
    coeff, base = detect_linear_equation(tir.const(48, "uint32") - u, [u])
    assert (coeff.dtype, coeff.value) == ("int32", -1)
    assert (base.dtype, base.value) == ("uint32", 48)


def test_clip_by_minima_maxima_and_negations() -> None:
    def clipped(*conditions):
        bounds = detect_clip_bound(tir.all(*conditions), [a, b])
        return [None if bound is None else str(bound) for bound in bounds]

    assert clipped(tir.Min(a, b) > 3, a < 10) == ["4", "9", "4", None]
    assert clipped(tir.Max(a, b) <= n) == [None, "n", None, "n"]
    assert clipped(tir.Not(a > n * 6), b >= 1) == [None, "n * 6", "1", None]
    assert clipped(tir.Max(a, b) > 3) == []
    assert clipped(tir.Min(a, b) < 3) == []


def test_clip_bounds_of_multiples() -> None:
    a, b = tir.Var("a", "int32"), tir.Var("b", "int32")
    found = detect_clip_bound(tir.all(a * 3 < 10, b * 4 >= 6, a > 0), [a, b])
    assert [None if one is None else int(one) for one in found] == [1, 3, 2, None]
