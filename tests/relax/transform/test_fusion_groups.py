"""Groups of a graph given by patterns and readers only."""

from __future__ import annotations

import random

import pytest

from tvm.relax.op_pattern import OpPatternKind as Kind
from tvm.relax.transform.fusion_groups import FusionNode, find_groups

pytestmark = pytest.mark.pure

E, B, I, R, A, T, O = (
    Kind.kElemWise, Kind.kBroadcast, Kind.kInjective, Kind.kCommReduce, Kind.kOutEWiseFusable,
    Kind.kTuple, Kind.kOpaque,
)  # fmt: skip


def _graph(patterns: list[Kind], edges: list[tuple[int, int]]) -> list[FusionNode]:
    nodes = [FusionNode(pattern, False) for pattern in patterns]
    nodes[-1].escapes = True
    for source, reader in edges:
        nodes[source].readers.append((reader, patterns[reader]))
    return nodes


def _chain(*patterns: Kind) -> list[FusionNode]:
    return _graph(list(patterns), [(i, i + 1) for i in range(len(patterns) - 1)])


@pytest.mark.parametrize(
    ("patterns", "groups"),
    [
        ([E, E, E], [[0, 1, 2]]),
        ([A, E, E], [[0, 1, 2]]),
        ([A, B, E], [[0], [1, 2]]),
        ([A, I], [[0], [1]]),
        ([A, A], [[0], [1]]),
        ([E, A, E], [[0], [1, 2]]),
        ([E, R], [[0, 1]]),
        ([R, E], [[0], [1]]),
        ([I, R], [[0], [1]]),
        ([E, O, E], [[0], [1], [2]]),
        ([B, I, E], [[0, 1, 2]]),
        ([A, E, R], [[0, 1], [2]]),
    ],
)
def test_chains(patterns: list[Kind], groups: list[list[int]]) -> None:
    assert find_groups(_chain(*patterns), 2, 256) == groups


def test_a_diamond() -> None:
    nodes = _graph([E, E, E, E], [(0, 1), (0, 2), (1, 3), (2, 3)])
    assert find_groups(nodes, 2, 256) == [[0, 1, 2, 3]]


def test_a_diamond_with_an_opaque_side() -> None:
    nodes = _graph([E, E, O, E], [(0, 1), (0, 2), (1, 3), (2, 3)])
    assert find_groups(nodes, 2, 256) == [[0], [1, 3], [2]]


def test_a_value_that_escapes_ends_its_group() -> None:
    nodes = _chain(E, E, E)
    nodes[1].escapes = True
    assert find_groups(nodes, 2, 256) == [[0, 1], [2]]


def test_an_anchor_with_two_ways_to_its_end() -> None:
    """conv -> relu -> add, and conv -> add: the residual goes into the anchor's kernel."""
    nodes = _graph([A, E, E], [(0, 1), (0, 2), (1, 2)])
    assert find_groups(nodes, 2, 256) == [[0, 1, 2]]


def test_a_map_of_another_value_joins_the_end_of_an_anchor() -> None:
    """conv -> add, and relu -> add, wherever the relu stands."""
    assert find_groups(_graph([A, E, E], [(0, 2), (1, 2)]), 2, 256) == [[0, 1, 2]]
    assert find_groups(_graph([E, A, E], [(0, 2), (1, 2)]), 2, 256) == [[0, 1, 2]]


def test_level_zero() -> None:
    assert find_groups(_chain(E, E), 0, 256) == [[0], [1]]


def test_the_largest_size() -> None:
    for depth in (1, 2, 3, 7):
        groups = find_groups(_chain(*[E] * 12), 2, depth)
        assert max(len(group) for group in groups) <= depth
        assert sorted(i for group in groups for i in group) == list(range(12))


@pytest.mark.parametrize("seed", range(60))
def test_groups_of_random_graphs_can_be_ordered(seed: int) -> None:
    """Every node is in one group with one anchor at most; groups depend on earlier ones only."""
    rng = random.Random(seed)
    count = rng.randrange(3, 30)
    patterns = [rng.choice([E, E, B, I, R, A, T, O]) for _ in range(count)]
    edges = {(rng.randrange(i), i) for i in range(1, count) for _ in range(rng.choice([1, 1, 2]))}
    nodes = _graph(patterns, sorted(edges))
    for node in nodes:
        node.escapes = node.escapes or rng.random() < 0.1
    depth = rng.choice([2, 5, 256])
    groups = find_groups(nodes, 2, depth)
    assert sorted(i for group in groups for i in group) == list(range(count))
    owner = {i: g for g, group in enumerate(groups) for i in group}
    for group in groups:
        assert len(group) <= depth
        assert sum(patterns[i] == A for i in group) <= 1
        last = max(group)
        for i in group:
            # a group is replaced by one call where its last member stood: what it gives may be
            # read only after that, and nothing of it may be seen from outside before
            outside = [r for r, _ in nodes[i].readers if owner[r] != owner[i]]
            assert all(r > last for r in outside)
            assert i == last or not outside
