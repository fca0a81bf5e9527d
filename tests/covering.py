"""Fewer combinations of a test's parameters that still show every few of them together.

A fault mostly hangs on one parameter or on two that meet (Kuhn, Wallace, Gallo 2004), so
`@pytest.mark.covering(2)` leaves a test those combinations in which each value of any parameter
meets each value of any other; `covering(1)` those in which each value occurs. All others are
marked `long`: the whole cross product runs there.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import pytest
from _pytest.mark import ParameterSet

Choice = tuple[tuple[int, str], ...]


def chosen(rows: Sequence[Choice], strength: int) -> list[int]:
    """Rows that show all that any `strength` of their parameters show together, in order.

    Each step takes the row that shows most that was not seen yet; of equals, one that repeats
    least, so that what is left out is spread.
    """
    shown = [set(itertools.combinations(row, min(strength, len(row)))) for row in rows]
    left = set().union(*shown)
    times: Counter[tuple[tuple[int, str], ...]] = Counter()
    taken = []
    while left:
        best = min(
            range(len(rows)),
            key=lambda i: (-len(shown[i] & left), sum(times[part] for part in shown[i])),
        )
        taken.append(best)
        left -= shown[best]
        times.update(shown[best])
    return sorted(taken)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what the tests marked `covering` can do without, before others choose by marks."""
    groups: dict[tuple[str, int], list[pytest.Function]] = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("covering")
        # what a case is marked for itself keeps its place, so the others are chosen without it
        if mark is not None and isinstance(item, pytest.Function) and not _is_long(item):
            groups[item.nodeid.partition("[")[0], mark.args[0]].append(item)
    for (_, strength), group in groups.items():
        rows = [tuple(enumerate(item.callspec._idlist)) for item in group]  # a word of each axis
        kept = set(chosen(rows, strength))
        for index, item in enumerate(group):
            if index not in kept:
                item.add_marker("long")


def _is_long(item: pytest.Item) -> bool:
    return item.get_closest_marker("long") is not None


def few(values: Iterable[object], count: int) -> list[object]:
    """Values of a parameter, the same case again and again: those after the first are `long`."""
    return [
        value if index < count else pytest.param(value, marks=pytest.mark.long)
        for index, value in enumerate(values)
    ]


def long(*values: object) -> ParameterSet:
    """A case of a test that `make test-long` alone runs."""
    return pytest.param(*values, marks=pytest.mark.long)
