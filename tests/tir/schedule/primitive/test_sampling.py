from __future__ import annotations

import math
from collections import Counter

import pytest

from tests.tir.schedule.cases import chain, check, matmul, open_schedule
from tvm import te, tir
from tvm.tir.schedule import Schedule, ScheduleError
from tvm.tir.schedule.primitive.sampling import compute_locations, draw_tile
from tvm.tir.schedule.random_engine import RandomEngine


def test_same_seed_same_choices() -> None:
    def draw(seed: int) -> list[int]:
        sch = Schedule(matmul(), seed=seed)
        value = sch.sample_categorical([1, 2, 4], [0.2, 0.3, 0.5])
        tiles = sch.sample_perfect_tile(sch.get_loops("C")[2], n=3)
        return [sch.get(value), *[sch.get(tile) for tile in tiles]]

    assert draw(3) == draw(3)
    assert len({tuple(draw(seed)) for seed in range(1, 20)}) > 3


def test_tiles_multiply_to_the_extent() -> None:
    func = matmul()
    sch = Schedule(func, seed=5)
    k = sch.get_loops("C")[2]
    tiles = sch.sample_perfect_tile(k, n=3, max_innermost_factor=4)
    sizes = [sch.get(tile) for tile in tiles]
    assert sizes[0] * sizes[1] * sizes[2] == 16
    assert sizes[2] <= 4
    sch.split(k, factors=tiles)
    check(sch, func)


def test_decisions_are_kept() -> None:
    sch = Schedule(matmul())
    tiles = sch.sample_perfect_tile(sch.get_loops("C")[2], n=2, decision=[2, 8])
    assert [sch.get(tile) for tile in tiles] == [2, 8]
    assert "decision=[2, 8]" in str(sch.trace)
    value = sch.sample_categorical([7, 9], [0.5, 0.5], decision=1)
    assert sch.get(value) == 9
    assert sch.get(value * 2 + 1) == 19


def test_partitioned_tiles() -> None:
    sch = Schedule(matmul(), seed=1)
    k = sch.get_loops("C")[2]
    sizes = [sch.get(t) for t in sch.sample_partitioned_tile(k, 3, 1, 4)]
    assert sizes[0] * sizes[1] * sizes[2] == 16
    assert sizes[1] * sizes[2] % 4 == 0


def test_compute_location() -> None:
    sch = Schedule(chain(), seed=1)
    loop = sch.sample_compute_location("B", decision=0)
    assert sch.get(loop).loop_var.name == "i"
    sch.compute_at("B", loop)
    check(sch, chain())


def test_compute_location_of_marks() -> None:
    before = Schedule(chain())
    count = len(before.get_child_blocks(before.get_block("root")))
    for decision, blocks in ((-1, count), (-2, count - 1)):
        sch = Schedule(chain())
        sch.compute_at("B", sch.sample_compute_location("B", decision=decision))
        assert len(sch.get_child_blocks(sch.get_block("root"))) == blocks
        check(sch, chain())


def test_compute_locations_are_parallel_loops() -> None:
    x = te.placeholder((4, 8), "float32", "X")
    y = te.compute((4, 8), lambda i, j: x[i, j] + 1.0, "Y")
    k = te.reduce_axis((0, 8), "k")
    sch = Schedule(te.create_prim_func([x, te.compute((4,), lambda i: te.sum(y[i, k], k), "Z")]))
    place = sch.get_sref(sch.get_block("Y"))
    assert compute_locations(sch.state, place) == [-2, -1, 0]
    sch.add_unit_loop(sch.get_loops("Z")[0])
    assert compute_locations(sch.state, place) == [-2, -1, 1]


def test_no_limit_of_the_innermost_factor() -> None:
    sch = Schedule(matmul(), seed=2)
    loop = sch.get_loops("C")[2]
    last = {sch.get(sch.sample_perfect_tile(loop, 2, -1)[1]) for _ in range(60)}
    assert last == {1, 2, 4, 8, 16}


def test_bad_probabilities() -> None:
    with pytest.raises(ScheduleError, match="2 candidates have 1 probabilities"):
        Schedule(matmul()).sample_categorical([1, 2], [1.0])


@pytest.mark.parametrize("n", [2, 5, 90])
def test_any_number_of_factors(n: int) -> None:
    sch = Schedule(matmul(), seed=5)
    loop = sch.get_loops("C")[2]
    for _ in range(3):
        factors = [sch.get(v) for v in sch.sample_perfect_tile(loop, n)]
        assert len(factors) == n
        assert math.prod(factors) == 16
    parts = [sch.get(v) for v in sch.sample_partitioned_tile(loop, n, n // 2, 4)]
    assert math.prod(parts) == 16
    assert math.prod(parts[n // 2 :]) % 4 == 0


@pytest.mark.parametrize("n", [0, -3])
def test_no_factors(n: int) -> None:
    sch = Schedule(matmul())
    with pytest.raises(ScheduleError, match="legal: two factors or more"):
        sch.sample_perfect_tile(sch.get_loops("C")[2], n)


def test_a_thousand_draws() -> None:
    sch = Schedule(matmul(), seed=7)
    drawn = Counter(
        sch.get(sch.sample_categorical([5, 2, 7, 1], [0.15, 0.55, 0.05, 0.25]))
        for _ in range(1000)
    )
    for value, share in ((5, 0.15), (2, 0.55), (7, 0.05), (1, 0.25)):
        assert abs(drawn[value] / 1000 - share) < 0.07


def test_tiles_of_a_symbolic_extent() -> None:
    n = tir.Var("n", "int32")
    a = te.placeholder((n,), name="A")
    sch = open_schedule(te.create_prim_func([a, te.compute((n,), lambda i: a[i], name="B")]))
    (loop,) = sch.get_loops("B")
    first, *others = sch.sample_perfect_tile(loop, 3)
    assert first is None
    assert [int(sch.get(v)) for v in others] == [1, 1]
    sch.split(loop, [first, *others])
    assert "v2, v3, v4 = sch.sample_perfect_tile(" in str(sch.trace)
    assert "factors=[None, v3, v4]" in str(sch.trace)


def test_decisions_are_numbers_of_the_ir() -> None:
    sch = open_schedule(matmul())
    sch.sample_categorical([2, 4], [0.5, 0.5], decision=1)
    (decision,) = sch.trace.decisions.values()
    assert isinstance(decision, tir.IntImm)
    assert decision.value == 1
    assert str(sch.trace).startswith(
        "# from tvm import tir\ndef apply_trace(sch: tir.Schedule) -> None:\n"
    )


TILES = [  # extent, parts, the largest last factor, and what seed 42 gives
    (97, 2, -1, [1, 97]),
    (97, 2, 64, [97, 1]),
    (1000003, 2, -1, [1000003, 1]),
    (720, 3, 64, [3, 20, 12]),
    (2**20, 5, -1, [1, 64, 16, 2, 512]),
    (30030, 5, -1, [2, 5, 21, 11, 13]),
]


def test_tiles_of_a_seed() -> None:
    for extent, n, most, expected in TILES:
        assert draw_tile(RandomEngine(42), extent, n, most) == expected


def test_partitioned_decisions_that_do_not_fit() -> None:
    sch = Schedule(matmul())
    k = sch.get_loops("C")[2]

    def sizes(factor: int, decision: list[int]) -> list[int]:
        return [sch.get(t) for t in sch.sample_partitioned_tile(k, 3, 1, factor, decision)]

    assert sizes(4, [2, 4, 2]) == [2, 4, 2]
    assert sizes(4, [8, 2, 1]) == [4, 4, 1]  # the inner part is made a multiple of 4
    assert sizes(4, [1, 4, 8]) == [1, 2, 8]
    assert sizes(3, [4, 2, 2]) == [-1, 1, 1]  # 3 is no divisor: all is left to the first
    with pytest.raises(ValueError, match="none of 3 factors is at 3"):
        sch.sample_partitioned_tile(k, 3, 3, 4)


def test_few_factors() -> None:
    sch = Schedule(matmul())
    k = sch.get_loops("C")[2]
    assert [sch.get(t) for t in sch.sample_perfect_tile(k, 1, -1)] == [16]
    with pytest.raises(ValueError, match="Cannot tile a loop into 1 splits"):
        sch.sample_perfect_tile(k, 1, 8)
    with pytest.raises(ValueError, match="at most 0"):
        sch.sample_perfect_tile(k, 2, 0)


def test_results_have_no_location() -> None:
    sch = Schedule(chain(), seed=7)
    last = sch.get_child_blocks(sch.get_block("root"))[-1]
    expected = sch.twin().fork_seed()
    assert compute_locations(sch.state, sch.get_sref(last)) == [-1]
    sch.sample_compute_location(last)
    assert sch.fork_seed() == expected  # one choice takes no draw


def test_probabilities_are_nodes() -> None:
    sch = Schedule(matmul(), seed=1)
    sch.sample_categorical([1, 2], [0.25, 0.75])
    assert [type(p).__name__ for p in sch.trace.insts[0].attrs[1]] == ["FloatImm"] * 2
