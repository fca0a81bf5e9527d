"""Memory plans: values that live together never share memory, and little is wasted."""

from __future__ import annotations

import random

import pytest

from tvm import tir
from tvm.relax.vm.memory_plan import ALIGNMENT, Lifetime, MemoryPlan, aligned, plan_memory
from tvm.tir.functor import substitute, walk
from tvm.tir.interp import evaluate

pytestmark = pytest.mark.pure


def _value(nbytes: int, first: int, last: int) -> Lifetime:
    return Lifetime(tir.IntImm("int64", nbytes), first, last)


def _number(expr: tir.PrimExpr, symbols: dict[tir.Var, int] | None = None) -> int:
    numbers = {var: tir.IntImm("int64", value) for var, value in (symbols or {}).items()}
    return int(evaluate(substitute(expr, numbers)))


def _check(
    values: list[Lifetime], plan: MemoryPlan, symbols: dict[tir.Var, int] | None = None
) -> int:
    """No two living neighbours overlap, all are aligned and inside; gives the size."""
    places = []
    symbols = dict(symbols or {})
    for name, value in plan.ends:
        symbols[name] = _number(value, symbols)
    total = _number(plan.total, symbols)
    for value, offset in zip(values, plan.offsets):
        low = _number(offset, symbols)
        high = low + max(_number(value.nbytes, symbols), 1)
        assert low % ALIGNMENT == 0
        assert high <= total
        for other, other_low, other_high in places:
            if value.overlaps(other):
                assert high <= other_low or other_high <= low
        places.append((value, low, high))
    return total


def _lower_bound(values: list[Lifetime]) -> int:
    """The most memory alive at one step."""
    steps = {v.first for v in values}
    sizes = [(v, aligned(max(_number(v.nbytes), 1))) for v in values]
    return max(
        sum(size for v, size in sizes if v.first <= step <= v.last) for step in steps
    )


def test_random_lifetimes() -> None:
    waste = []
    for seed in range(60):
        rng = random.Random(seed)
        values = []
        for step in range(rng.randrange(5, 60)):
            size = rng.choice([rng.randrange(1, 200), rng.randrange(1, 50_000)])
            values.append(_value(size, step, step + rng.choice([1, 1, 1, 2, 3, 10])))
        waste.append(_check(values, plan_memory(values)) / _lower_bound(values))
    assert max(waste) < 1.4
    assert sum(waste) / len(waste) < 1.05


def test_a_chain_needs_two_buffers() -> None:
    values = [_value(1000, i, i + 1) for i in range(50)]
    assert _check(values, plan_memory(values)) == 2 * aligned(1000)


def test_values_of_no_bytes_have_places_of_their_own() -> None:
    values = [_value(0, 0, 5), _value(8, 0, 5)]
    _check(values, plan_memory(values))


def test_no_values_need_no_memory() -> None:
    assert _number(plan_memory([]).total) == 0


def test_a_gap_between_living_neighbours_is_used() -> None:
    values = [_value(640, 0, 9), _value(640, 0, 1), _value(640, 0, 9), _value(640, 2, 9)]
    plan = plan_memory(values)
    assert _check(values, plan) == 3 * 640
    assert _number(plan.offsets[3]) == _number(plan.offsets[1])


@pytest.mark.parametrize("seed", range(10))
def test_symbolic_sizes(seed: int) -> None:
    rng = random.Random(seed)
    n, m = tir.SizeVar("n", "int64"), tir.SizeVar("m", "int64")
    four = tir.IntImm("int64", 4)
    kinds = [lambda: n * four, lambda: m * four, lambda: n * m, lambda: tir.IntImm("int64", 300)]
    values = [
        Lifetime(rng.choice(kinds)(), step, step + rng.choice([1, 1, 2, 5])) for step in range(30)
    ]
    plan = plan_memory(values)
    for symbols in ({n: 1, m: 1}, {n: 7, m: 100}, {n: 100, m: 3}):
        total = _check(values, plan, symbols)
        assert total < sum(aligned(_number(v.nbytes, symbols)) for v in values)


def test_equal_symbolic_sizes_share_when_one_is_dead() -> None:
    n = tir.SizeVar("n", "int64")
    values = [Lifetime(n * tir.IntImm("int64", 4), i, i + 1) for i in range(10)]
    assert _check(values, plan_memory(values), {n: 16}) == 2 * 64


def test_a_plan_of_many_symbolic_sizes_is_stated_shortly() -> None:
    n = tir.SizeVar("n", "int64")
    values = [Lifetime(n * tir.IntImm("int64", 4 * i), 0, 1) for i in range(1, 200)]
    plan = plan_memory(values)
    exprs = [*plan.offsets, plan.total, *(value for _, value in plan.ends)]
    assert sum(1 for expr in exprs for _ in walk(expr)) < 20 * len(values)
    again = plan.renamed()
    assert not {name for name, _ in plan.ends} & {name for name, _ in again.ends}
    assert _check(values, again, {n: 3}) == _check(values, plan, {n: 3})


def test_multiples_of_one_size_share_and_the_smaller_slot_grows() -> None:
    n = tir.SizeVar("n", "int64")
    factors = [256, 512, 64, 1024, 4]
    values = [
        Lifetime(n * tir.IntImm("int64", factor), i, i) for i, factor in enumerate(factors)
    ]
    assert _check(values, plan_memory(values), {n: 5}) == 1024 * 5
