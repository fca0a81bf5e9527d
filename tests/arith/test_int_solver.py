"""Linear systems over the integers."""

from __future__ import annotations

import itertools
import random

import pytest

from tests.arith.fuzz import evaluate
from tvm.arith import (
    IntConstraints,
    IntGroupBounds,
    _ffi_api,
    solve_linear_equations,
    solve_linear_inequalities,
)
from tvm.arith.deep_equal import deep_equal
from tvm.arith.int_solver import SmithForm
from tvm.ir import Range
from tvm.tir import expr as e
from tvm.tir.functor import substitute

pytestmark = pytest.mark.pure
x, y, z, n = (e.Var(name, "int32") for name in "xyzn")


def product(a, b):
    return [[sum(p * q for p, q in zip(row, col)) for col in zip(*b)] for row in a]


def test_smith_form() -> None:
    source = random.Random(3)
    for _ in range(200):
        rows, columns = source.randint(1, 4), source.randint(1, 4)
        a = [[source.randint(-6, 6) for _ in range(columns)] for _ in range(rows)]
        form = SmithForm(a)
        assert product(product(form.u, a), form.v) == form.diagonal
        unit = [[int(i == j) for j in range(columns)] for i in range(columns)]
        assert product(form.v, form.v_inverse) == unit
        for i, j in itertools.product(range(rows), range(columns)):
            assert i == j or form.diagonal[i][j] == 0


def test_unique_solution() -> None:
    found = solve_linear_equations([e.EQ(x + y, 20), e.EQ(x - y, 10)], [x, y])
    assert found.dst.variables == ()
    assert int(found.src_to_dst[x]) == 15
    assert int(found.src_to_dst[y]) == 5


def test_fewer_equations_than_variables() -> None:
    found = solve_linear_equations([e.EQ(x + y + z, 15), e.EQ(x + y, 10)], [x, y, z])
    [free] = found.dst.variables
    for value in range(-5, 6):
        old = {var: evaluate(expr, {free: value}) for var, expr in found.src_to_dst.items()}
        assert old[x] + old[y] == 10
        assert old[z] == 5
        assert evaluate(found.dst_to_src[free], old) == value


def test_ranges_become_relations() -> None:
    found = solve_linear_equations(
        [e.EQ(x + y, 0)], [x, y], {x: Range(-5, 5), y: Range(0, 10)}
    )
    [free] = found.dst.variables
    solutions = {(a, -a) for a in range(-5, 5) if 0 <= -a < 10}
    made = set()
    low, extent = int(found.dst.ranges[free].min), int(found.dst.ranges[free].extent)
    for value in range(low, low + extent):
        if all(evaluate(r, {free: value}) for r in found.dst.relations):
            made.add(tuple(evaluate(found.src_to_dst[v], {free: value}) for v in (x, y)))
    assert made == solutions


def test_no_solution() -> None:
    for system in ([e.EQ(x + y, 0), e.EQ(x - y, 0), e.EQ(x, 5)], [e.EQ(x * 2, 3)]):
        found = solve_linear_equations(system, [x, y])
        [never] = found.dst.relations
        assert never.value == 0
        assert not found.src_to_dst


def test_symbolic_sides() -> None:
    found = solve_linear_equations([e.EQ(x * 4, n)], [x])
    assert deep_equal(found.dst.relations[0], e.EQ(n % 4, 0))
    assert deep_equal(found.src_to_dst[x], n // 4)


def test_nothing_to_solve() -> None:
    equations = [e.EQ(x + y, 20), e.EQ(x - y, 10)]
    found = solve_linear_equations(equations)
    assert found.src is found.dst
    assert found.dst.relations == tuple(equations)
    ranges = {x: Range(0, 10), y: Range(0, 5)}
    for relation in (e.EQ(x * y, 3), e.LT(x, y)):
        kept = solve_linear_equations([relation], [x, y], ranges)
        new_x, new_y = kept.dst.variables
        assert (new_x.name, new_y.name) == ("n0_x", "n1_y")
        assert dict(kept.src_to_dst) == {x: new_x, y: new_y}
        assert dict(kept.dst_to_src) == {new_x: x, new_y: y}
        assert [int(kept.dst.ranges[v].extent) for v in (new_x, new_y)] == [10, 5]
        (held,) = kept.dst.relations
        assert deep_equal(held, substitute(relation, {x: new_x, y: new_y}))


def test_variables_that_no_equation_binds() -> None:
    wide = e.Var("w", "int64")
    found = solve_linear_equations([e.EQ(x + y, 3)], [x, y, wide])
    names = [(var.name, var.dtype) for var in found.dst.variables]
    assert names == [("n0", "int32"), ("n1_w", "int64")]
    assert found.src_to_dst[wide] is found.dst.variables[1]


def points_of(system: IntConstraints, names, reach: int = 12) -> set:
    """The points that satisfy a system; variables outside of its ranges are not met."""
    found = set()
    for values in itertools.product(range(-reach, reach + 1), repeat=len(names)):
        env = dict(zip(names, values))
        inside = all(
            evaluate(r.min, env) <= env[v] < evaluate(r.min, env) + evaluate(r.extent, env)
            for v, r in system.ranges.items()
        )
        if inside and all(evaluate(r, env) for r in system.relations):
            found.add(values)
    return found


def test_two_variables() -> None:
    system = [x + y < 20, x - y >= 10]
    domains = {x: Range(-100, 100), y: Range(0, 10)}
    found = solve_linear_inequalities(system, [x, y], domains)
    assert str(found.ranges[x].min) == "y + 10"
    assert int(found.ranges[x].extent) == 10, "for the least y"
    assert [str(one) for one in found.relations] == ["x <= 19 - y"]
    assert (int(found.ranges[y].min), int(found.ranges[y].extent)) == (0, 5)
    moved = solve_linear_inequalities(system, [x, y], domains, deskew_range=True)
    assert [str(r.min) for r in moved.dst.ranges.values()] == ["0", "0"]
    conditions = _ffi_api.SolveInequalitiesAsCondition([x, y], domains, system)
    assert deep_equal(conditions[0], x >= y + 10)


def test_equal_bounds() -> None:
    found = solve_linear_inequalities([x >= y, x <= y, y >= 3, y < 4], [x, y])
    assert int(found.ranges[y].extent) == 1
    assert str(found.ranges[x].min) == "3"


def test_contradiction() -> None:
    found = solve_linear_inequalities([x + y < 10, x + y >= 11], [x, y])
    assert any(isinstance(r, e.IntImm) and not r.value for r in found.relations)


def test_random_systems_keep_their_points() -> None:
    source = random.Random(5)
    for _ in range(25):
        system = []
        for _ in range(source.randint(1, 3)):
            a, b = source.randint(-3, 3), source.randint(-3, 3)
            join = source.choice((e.LT, e.LE, e.GT, e.GE, e.EQ))
            system.append(join(x * a + y * b, e.IntImm("int32", source.randint(-6, 6))))
        domains = {x: Range(-6, 7), y: Range(-5, 6)}
        before = points_of(IntConstraints([x, y], domains, system), (x, y))
        found = solve_linear_inequalities(system, [x, y], domains)
        assert points_of(found, (x, y)) == before
        moved = solve_linear_inequalities(system, [x, y], domains, deskew_range=True)
        names = moved.dst.variables
        images = set()
        for values in points_of(moved.dst, names, 40):
            env = dict(zip(names, values))
            images.add(tuple(evaluate(moved.src_to_dst[v], env) for v in (x, y)))
        assert images == before
        solved = solve_linear_equations([c for c in system if isinstance(c, e.EQ)], [x, y])
        assert solved.src.variables == (x, y)


def test_groups() -> None:
    group = IntGroupBounds.from_range(Range(2, 7))
    best = group.find_best_range()
    assert (int(best.min), int(best.extent)) == (2, 5)
    assert IntGroupBounds.from_range(Range.from_min_extent(n, 1)).equal == (n,)
    assert IntGroupBounds(1, [n], [], []).find_best_range() is None


def test_the_first_variables_are_the_free_ones() -> None:
    found = solve_linear_equations([e.EQ(x + y + z, 15), e.EQ(x + y, 10)], [x, y, z])
    [free] = found.dst.variables
    assert [str(found.src_to_dst[var]) for var in (x, y, z)] == ["n0 + 10", "n0 * -1", "5"]
    domains = {x: Range(-5, 10), y: Range(0, 10)}
    found = solve_linear_equations([e.EQ(x + y, 0)], [x, y], domains)
    [free] = found.dst.variables
    assert deep_equal(found.src_to_dst[x], free)
    assert (int(found.dst.ranges[free].min), int(found.dst.ranges[free].extent)) == (-9, 10)
    assert [str(one) for one in found.dst.relations] == ["-5 <= n0"]


def test_inequalities_without_a_solution() -> None:
    found = solve_linear_inequalities([x < 0, x >= 5], [x])
    assert not found.variables
    assert not found.relations[0].value
    found = solve_linear_inequalities([x + 10 < -100], [x], {x: Range(-20, 0)}, deskew_range=True)
    assert not found.dst.variables
    assert not found.dst.relations[0].value


def test_what_ranges_do_not_say_is_a_relation() -> None:
    system = [e.LE(x, 6), e.GE(x, 6), e.GE(x - z * y, 0), e.LE(x - z * y, 0)]
    found = solve_linear_inequalities(system, [x])
    assert (int(found.ranges[x].min), int(found.ranges[x].extent)) == (6, 1)
    assert [str(one) for one in found.relations] == [
        "x == z * y", "6 <= z * y", "z * y <= 6"
    ]  # fmt: skip


def test_text_of_systems() -> None:
    found = solve_linear_equations([e.EQ(x + y, 7)], [x, y], {x: Range(0, 10), y: Range(0, 5)})
    source = "IntConstraints([x, y], {x: I.Range(0, 10), y: I.Range(0, 5)}, [x + y == 7])"
    assert str(found.src) == repr(found.src) == source
    assert str(found).startswith(f"IntConstraintsTransform(\n\t{source}\n\tIntConstraints([n0]")


def test_the_forms_of_solutions() -> None:
    found = solve_linear_equations([e.EQ(x * 2 + y * 3, 7)], [x, y], {z: Range(0, 4)})
    assert str(found.src_to_dst[x]) == "n0 * 3 - 7"
    assert str(found.src_to_dst[y]) == "7 - n0 * 2"
    [free] = found.dst.variables
    assert str(found.dst_to_src[free]) == "x + y"
    assert z in found.dst.ranges, "of variables that are not solved for, too"
    found = solve_linear_equations([e.EQ(x * 6 + y * 4, 10)], [x, y])
    assert str(found.src_to_dst[x]) == "n0 * 2 + 5"
    assert str(found.src_to_dst[y]) == "0 - n0 * 3 - 5"


def test_the_given_range_comes_first() -> None:
    found = solve_linear_inequalities([x >= y], [x], {x: Range(0, 10), y: Range(0, 20)})
    assert str(found.ranges[x].min) == "0"
    assert [str(one) for one in found.relations] == ["x >= y", "y <= 9"]
    for name in ("ToRange", "DeskewRange"):
        made = getattr(_ffi_api, f"SolveInequalities{name}")([x], {x: Range(0, 10)}, [x >= y])
        assert type(made).__name__.startswith("IntConstraints")


def test_one_bound_on_either_side_is_kept_as_it_is() -> None:
    found = solve_linear_inequalities([x >= 0, y >= 0, x + y < 10], [x, y])
    assert str(found.ranges[x].extent) == "10 - y"
    assert [str(one) for one in found.relations] == ["x <= 9 - y"]
    assert list(found.ranges) == [y, x]
