"""Draw integers: among candidates, as factors of a loop, as a location to compute at."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from math import prod

from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import IntImm
from tvm.tir.op.arith import is_one
from tvm.tir.schedule.analysis.query import (
    consumers_of,
    is_ancestor,
    is_output_block,
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

LARGEST_PRIME = 65536  # larger ones are drawn a place for, also among two


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
    extent = _extent(loop)
    if extent is None:
        return [-1, *([1] * (n - 1))]
    if decision is not None:
        return _fit(extent, n, [int(d) for d in decision])
    _require_factors(loop, n, alone=max_innermost_factor == -1)
    if max_innermost_factor != -1 and max_innermost_factor < 1:
        raise Illegal(
            f"the last factor is to be at most {max_innermost_factor}",
            legal="1 or more, or -1 for any",
            spots=[loop.stmt],
            error=ScheduleValueError,
        )
    return draw_tile(engine, extent, n, max_innermost_factor)


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
    multiple of `innerpart_factor`. Where that does not divide the extent, all stays in the first.
    """
    extent = _extent(loop)
    if extent is None:
        return [-1, *([1] * (n - 1))]
    if innerpart_factor < 1 or extent % innerpart_factor:
        return [-1, *([1] * (n - 1))]
    if partition_pos >= n and innerpart_factor > 1:
        raise Illegal(
            f"none of {n} factors is at {partition_pos} or behind",
            legal=f"a position of at most {n - 1}",
            spots=[loop.stmt],
            error=ScheduleValueError,
        )
    if decision is not None:
        decided = [int(d) for d in decision]
        if prod(decided[partition_pos:]) % innerpart_factor:
            decided = [1] * n
            decided[partition_pos] = innerpart_factor
        return _fit(extent, n, decided)
    _require_factors(loop, n, alone=innerpart_factor == 1)
    while prod((tile := draw_tile(engine, extent, n))[partition_pos:]) % innerpart_factor:
        pass
    return tile


def draw_tile(engine: RandomEngine, extent: int, n: int, most: int = -1) -> list[int]:
    """`n` factors of the extent: its primes spread over them, until the last is at most `most`."""
    if n == 1:
        return [extent]
    powers = _powers(extent)
    while True:
        factors = [1] * n
        for prime, power in powers:
            if power == 1 and (n > 2 or prime > LARGEST_PRIME):
                factors[engine.below(n)] *= prime
                continue
            # the powers of a prime are balls in a row with n - 1 bars between them
            bars = [-1, *engine.subset(power + n - 1, n - 1), power + n - 1]
            for i in range(n):
                factors[i] *= prime ** (bars[i + 1] - bars[i] - 1)
        if most == -1 or factors[-1] <= most:
            return factors


def _require_factors(loop: StmtSRef, n: int, alone: bool) -> None:
    if n < (1 if alone else 2):
        raise Illegal(
            f"Cannot tile a loop into {n} splits",
            legal="two factors or more; one where nothing is asked of it",
            spots=[loop.stmt],
            error=ScheduleValueError,
        )


@lru_cache(maxsize=1024)
def _powers(extent: int) -> list[tuple[int, int]]:
    """The prime factors, ascending, and how often each divides."""
    return [(prime, len(list(group))) for prime, group in groupby(_primes(extent))]


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
    What writes a result of the scope stays.
    """
    if is_output_block(block, scope_of(block)):
        return [-1]
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
        index = choices[engine.below(len(choices))] if len(choices) > 1 else -1
    else:
        index = int(decision)
    if index == -2 and can_compute_inline(state, block):
        return StmtSRef.inline_mark(), -2
    loops = _loops_of_users(state, block) if index >= 0 else []
    index = min(index, len(loops) - 1)
    return (loops[index], index) if index >= 0 else (StmtSRef.root_mark(), -1)
