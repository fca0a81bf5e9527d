"""Maps that are remembered are those that are read anew."""

from __future__ import annotations

import random

import pytest

from tvm import tir
from tvm.arith import Analyzer, iter_map_simplify, iter_maps_before
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.structural import structural_equal
from tvm.tir.functor import substitute

pytestmark = pytest.mark.pure


def _index(rng: random.Random, own: list[tir.Var]) -> PrimExpr:
    """Sums of products, quotients and remainders, as splits and fusions leave them."""
    made: PrimExpr = rng.choice(own)
    for _ in range(rng.randint(0, 3)):
        number = rng.choice([2, 3, 4, 8])
        made = rng.choice([
            lambda m, n: m * n + rng.choice(own), lambda m, n: m // n, lambda m, n: m % n,
            lambda m, n: m + n, lambda m, n: (m * n) % (n * 4) // n,
        ])(made, number)  # fmt: skip
    return made


def _same(a: list[PrimExpr], b: list[PrimExpr]) -> bool:
    return len(a) == len(b) and all(structural_equal(x, y) for x, y in zip(a, b))


@pytest.mark.parametrize("seed", range(60))
def test_as_read_anew(seed: int) -> None:
    rng = random.Random(seed)
    names = [tir.Var(f"i{k}", "int32") for k in range(6)]
    iters = {v: Range.from_min_extent(rng.choice([0, 0, 0, 2]), rng.choice([1, 2, 3, 4, 8, 16]))
             for v in names}  # fmt: skip
    for _ in range(8):
        shuffled = rng.sample(names, len(names))
        cut = rng.randint(1, 5)
        indices = [_index(rng, part) for part in (shuffled[:cut], shuffled[cut:])]
        indices += [rng.choice(names)] if rng.random() < 0.3 else []
        limit = shuffled[0] * 4 + shuffled[-1] < rng.randint(2, 20)
        predicate = limit if rng.random() < 0.4 else tir.IntImm("bool", 1)
        for drops in (True, False):
            anew = iter_map_simplify(
                indices, iters, predicate, simplify_trivial_iterators=drops, analyzer=Analyzer()
            )
            again = {v: tir.Var(f"{v.name}_", "int32") for v in names}
            for renames in ({}, {}, again):  # read, remembered, and of other variables
                given = [substitute(i, renames) for i in indices]
                found = iter_map_simplify(
                    given,
                    {renames.get(v, v): dom for v, dom in iters.items()},
                    substitute(predicate, renames),
                    simplify_trivial_iterators=drops,
                )
                assert _same(found, [substitute(i, renames) for i in anew]), (indices, predicate)


def test_other_ranges_are_another_question() -> None:
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    index = [x * 8 + y % 8]
    for extent, want in ((8, x * 8 + y), (16, index[0])):
        found = iter_map_simplify(index, {x: Range(0, 4), y: Range(0, extent)})
        assert _same(found, [want])


def test_as_many_as_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iter_maps_before, "MAX_RESULTS", 10)
    iter_maps_before.clear()
    x = tir.Var("x", "int32")
    for extent in range(1, 30):
        iter_map_simplify([x * 2 // 2], {x: Range(0, extent)})
    assert 0 < len(iter_maps_before._results) <= 10
