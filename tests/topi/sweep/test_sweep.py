"""Each operator in the forms that users call it, compiled, against numpy and torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.topi.sweep import arranging, elementwise, networks, ordering, pictures, reducing
from tests.topi.sweep.case import Case, check_all, outputs

pytestmark = pytest.mark.cpu
FAMILIES = (elementwise, reducing, arranging, ordering, networks, pictures)
BY_NAME: dict[str, list[Case]] = {}
for family in FAMILIES:
    for one in family.CASES:
        BY_NAME.setdefault(one.name, []).append(one)


@pytest.mark.parametrize("name", BY_NAME)
def test_three_forms(name: str) -> None:
    """The first, the last and one between; with symbolic extents too where the first has them."""
    cases = BY_NAME[name]
    few = [cases[k] for k in sorted({0, len(cases) // 2, len(cases) - 1})]
    check_all([few[0], *(replace(each, symbolic=False) for each in few[1:])])


@pytest.mark.long
@pytest.mark.parametrize("name", BY_NAME)
def test_all_forms(name: str) -> None:
    check_all(BY_NAME[name])


def test_names_and_tags(golden: Callable[[str], None]) -> None:
    """Of the first result of the first case: schedules and rules find stages by them."""
    lines = []
    for name, cases in sorted(BY_NAME.items()):
        op = outputs(cases[0])[1][0].op
        lines.append(f"{name}: {op.name} {op.tag}".rstrip())
    golden("\n".join(lines) + "\n")
