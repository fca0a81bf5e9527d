"""Limits of single variables within the predicate of an iteration map."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.arith import detect_iter_map, iter_map_simplify, subspace_divide
from tvm.ir import Range

pytestmark = pytest.mark.pure
x, y, z = [tir.Var(name, "int32") for name in "xyz"]
fld, flm = tir.floordiv, tir.floormod


def dom(**extents: int) -> dict[tir.Var, Range]:
    variables = {"x": x, "y": y, "z": z}
    return {variables[name]: Range(0, extent) for name, extent in extents.items()}


def span(indices, domains, predicate) -> list[tuple[int, int]]:
    found = detect_iter_map(indices, domains, predicate)
    assert not found.errors
    return [(int(made.args[0].extent), int(made.base)) for made in found.indices]


def test_limits_of_one_variable_narrow_its_range() -> None:
    for condition in (x < 5, 5 > x, x <= 4, tir.all(x < 5, x >= 0)):
        assert span([x], dom(x=8), condition) == [(5, 0)]
    assert span([x], dom(x=8), x >= 5) == [(3, 5)]
    (pair, rest) = subspace_divide([x * 4 + y, z], dom(x=4, y=4, z=3), [y, z], z < 2)[1:]
    assert [str(part.extent) for part in pair] == ["1", "2"]
    assert [str(part.extent) for part in rest] == ["T.bool(True)", "T.bool(True)"]
    never = detect_iter_map([x], dom(x=8), x >= 8)
    assert "never holds" in never.errors[0]


def test_ranges_that_depend_on_one_another_are_refused() -> None:
    ranges = {x: Range(0, y), y: Range(0, 4)}
    assert "depends on another" in detect_iter_map([x], ranges).errors[0]
    assert [str(i) for i in iter_map_simplify([fld(x, 4) * 4 + flm(x, 4)], ranges)] == [
        "x // 4 * 4 + x % 4"
    ]
    assert not subspace_divide([x, y], ranges, [y])


def test_limits_of_digits_put_together_narrow_nothing() -> None:
    whole = fld(x, 16) * 16 + flm(x, 16)
    n = tir.Var("n", "int32")
    for limit in (whole < n, whole <= n, n < whole, whole < 100):
        assert [str(i) for i in iter_map_simplify([whole], dom(x=128), limit)] == ["x"]
    (found,) = detect_iter_map([x * 4 + y], dom(x=8, y=4), x * 4 + y < n).indices
    assert "T.min(n, 32)" in str(found)
