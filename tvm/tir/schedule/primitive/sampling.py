"""Draw integers: among candidates, as factors of a loop, as a location to compute at."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from math import comb

from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import IntImm
from tvm.tir.op.arith import is_one
from tvm.tir.schedule.analysis.query import (
    consumers_of,
    is_ancestor,
    is_parallel_loop,
    loop_of,
    loops_above,
    scope_of,
)
from tvm.tir.schedule.error import Illegal, ScheduleValueError
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.primitive.compute_inline import can_compute_inline
from tvm.tir.schedule.random_engine import RandomEngine
from tvm.tir.schedule.tree import SRefTree

CATEGORICAL = kind(
    "SampleCategorical", "sample_categorical", "=candidates", "=probs", pure=True, decision=True
)  # fmt: skip
PERFECT_TILE = kind(
    "SamplePerfectTile", "sample_perfect_tile", "loop", "=n", "=max_innermost_factor",
    pure=True, decision=True, many=True,
)  # fmt: skip
PARTITIONED_TILE = kind(
    "SamplePartitionedTile", "sample_partitioned_tile", "loop", "=n", "=partition_pos",
    "=innerpart_factor", pure=True, decision=True, many=True,
)  # fmt: skip
COMPUTE_LOCATION = kind(
    "SampleComputeLocation", "sample_compute_location", "block", pure=True, decision=True
)  # fmt: skip

MANY_TILES = 100_000  # more than these are not listed to draw one of them


def sample_categorical(
    engine: RandomEngine,
    candidates: Sequence[int],
    probs: Sequence[float],
    decision: int | None,
) -> tuple[int, int]:
    """One of the candidates and its index, drawn with the given probabilities."""
    if len(candidates) != len(probs) or not candidates:
        raise Illegal(
            f"{len(candidates)} candidates have {len(probs)} probabilities",
            legal="as many probabilities as candidates, at least one",
            error=ScheduleValueError,
        )
    if decision is None:
        index = engine.weighted([float(p) for p in probs])
    else:
        index = int(decision)
        if not 0 <= index < len(candidates):
            raise Illegal(
                f"the decision {index} is no index of the candidates",
                legal=f"0 to {len(candidates) - 1}",
            )
    return int(candidates[index]), index


def sample_perfect_tile(
    state: SRefTree,
    engine: RandomEngine,
    loop: StmtSRef,
    n: int,
    max_innermost_factor: int,
    decision: Sequence[int] | None,
) -> list[int]:
    """`n` factors whose product is the extent of the loop, the last at most that given (-1: any).

    For a symbolic extent all but the first factor are drawn, and the first is told by split.
    """
    _require_factors(loop, n)
    extent = _extent(loop)
    if extent is None:
        return [-1, *([1] * (n - 1))]
    if decision is not None:
        return _fit(extent, n, [int(d) for d in decision])
    most = extent if max_innermost_factor == -1 else max_innermost_factor
    if ways_to_tile(extent, n) > MANY_TILES:
        return _spread(engine, extent, n, most)
    tiles = perfect_tiles(extent, n, most)
    return list(tiles[engine.below(len(tiles))])


def sample_partitioned_tile(
    state: SRefTree,
    engine: RandomEngine,
    loop: StmtSRef,
    n: int,
    partition_pos: int,
    innerpart_factor: int,
    decision: Sequence[int] | None,
) -> list[int]:
    """`n` factors whose product is the extent; those from `partition_pos` on multiply to a
    multiple of `innerpart_factor`."""
    _require_factors(loop, n)
    extent = _extent(loop)
    if extent is None:
        return [-1, *([1] * (n - 1))]
    if decision is not None:
        return _fit(extent, n, [int(d) for d in decision])
    if ways_to_tile(extent, n) > MANY_TILES:
        needed = 1 if extent % innerpart_factor else innerpart_factor
        return _spread(engine, extent // needed, n, extent, needed)
    if partition_pos == 0 or innerpart_factor == 1 or extent % innerpart_factor:
        tiles = perfect_tiles(extent, n, extent)
        return list(tiles[engine.below(len(tiles))])
    good = []
    for tile in perfect_tiles(extent, n, extent):
        inner = 1
        for factor in tile[partition_pos:]:
            inner *= factor
        if inner % innerpart_factor == 0:
            good.append(tile)
    return list(good[engine.below(len(good))])


def _require_factors(loop: StmtSRef, n: int) -> None:
    if n < 1:
        raise Illegal(f"{n} factors are asked for", legal="one factor or more", spots=[loop.stmt])


def ways_to_tile(extent: int, n: int) -> int:
    """In how many ways an extent is an ordered product of `n` factors."""
    ways = 1
    for prime, group in groupby(_primes(extent)):
        power = len(list(group))
        assert prime > 1, "a prime factor"
        ways *= comb(power + n - 1, n - 1)
    return ways


def _primes(number: int) -> list[int]:
    """The prime factors, ascending, each as often as it divides."""
    found: list[int] = []
    divisor = 2
    while divisor * divisor <= number:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1
    return [*found, number] if number > 1 else found


def _spread(
    engine: RandomEngine, extent: int, n: int, most: int, innermost: int = 1
) -> list[int]:
    """Each prime factor at a random position; the last one takes no more than fits."""
    factors = [1] * (n - 1) + [innermost]
    for prime in _primes(extent):
        position = engine.below(n)
        if position == n - 1 and factors[position] * prime > most:
            position = engine.below(n - 1) if n > 1 else 0
        factors[position] *= prime
    return factors


@lru_cache(maxsize=64)
def perfect_tiles(extent: int, n: int, most: int) -> tuple[tuple[int, ...], ...]:
    """All ways to write `extent` as an ordered product of `n` factors, the last at most `most`."""
    if n == 1:
        return ((extent,),)
    found: list[tuple[int, ...]] = []
    stack: list[tuple[int, tuple[int, ...]]] = [
        (extent // last, (last,)) for last in divisors(extent) if last <= most
    ]
    while stack:
        remaining, tail = stack.pop()
        if len(tail) == n - 1:
            found.append((remaining, *tail))
        else:
            stack.extend([(remaining // d, (d, *tail)) for d in divisors(remaining)])
    return tuple(sorted(found))


def divisors(number: int) -> list[int]:
    """The divisors of a positive number, ascending."""
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return sorted({*small, *[number // d for d in small]})


def _extent(loop: StmtSRef) -> int | None:
    extent = loop_of(loop).extent
    return extent.value if isinstance(extent, IntImm) else None


def _fit(extent: int, n: int, decision: list[int]) -> list[int]:
    """The decided factors; the first is told by the extent, which may differ from the old one."""
    if len(decision) != n:
        raise Illegal(f"the decision has {len(decision)} factors", legal=f"{n} factors")
    remaining = extent
    tiles = list(decision)
    for i in range(n - 1, 0, -1):
        if tiles[i] <= 0 or remaining % tiles[i]:
            tiles[i] = remaining  # what does not divide any more takes all that is left
        remaining //= tiles[i]
    tiles[0] = remaining
    return tiles


def compute_locations(state: SRefTree, block: StmtSRef) -> list[int]:
    """Where a block may be computed: numbers of loops around its consumers, from the outside.

    -2 stands for inlining it, where that is legal, and -1 for leaving it at the root. Loops of one
    iteration are no candidates. Nor are data-parallel loops within a reducing one, where
    the block would be computed again and again, and reducing loops within all parallel ones.
    """
    found = [-2, -1] if can_compute_inline(state, block) else [-1]
    loops = _loops_of_users(state, block)
    parallel = [is_parallel_loop(sref) for sref in loops]
    last = max((i for i, kind in enumerate(parallel) if kind), default=-1)
    reducing = False
    for i, sref in enumerate(loops):
        if is_one(loop_of(sref).extent):
            continue
        if (parallel[i] and reducing) or (not parallel[i] and i > last):
            break
        reducing = reducing or not parallel[i]
        found.append(i)
    return found


def _loops_of_users(state: SRefTree, block: StmtSRef) -> list[StmtSRef]:
    """The loops around all consumers of a block, outermost first."""
    users = consumers_of(block, state.get_block_scope(scope_of(block)))
    if not users:
        return []
    return [loop for loop in loops_above(users[0]) if all(is_ancestor(loop, u) for u in users)]


def sample_compute_location(
    state: SRefTree, engine: RandomEngine, block: StmtSRef, decision: int | None
) -> tuple[StmtSRef, int]:
    """A loop to compute the block at, or the marks -1 (leave at the root) and -2 (inline)."""
    if decision is None:
        choices = compute_locations(state, block)
        index = choices[engine.below(len(choices))]
    else:
        index = int(decision)
    if index == -2 and can_compute_inline(state, block):
        return StmtSRef.inline_mark(), -2
    loops = _loops_of_users(state, block) if index >= 0 else []
    index = min(index, len(loops) - 1)
    return (loops[index], index) if index >= 0 else (StmtSRef.root_mark(), -1)
