"""Combinations of parameters that may stand for all of them."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from tests.covering import chosen

pytestmark = pytest.mark.pure
TESTS = """
import pytest

@pytest.mark.covering(2)
@pytest.mark.parametrize("c", [1, 2])
@pytest.mark.parametrize("b", [1, 2])
@pytest.mark.parametrize("a", [1, 2, 3])
def test_three(a, b, c):
    pass

@pytest.mark.covering(1)
@pytest.mark.parametrize("b", [1, pytest.param(2, marks=pytest.mark.long)])
@pytest.mark.parametrize("a", [1, 2, 3])
def test_marked(a, b):
    pass

@pytest.mark.parametrize("a", [1, 2, 3])
def test_all(a):
    pass
"""


def _rows(*sizes: int) -> list[tuple[tuple[int, str], ...]]:
    return [tuple(enumerate(map(str, r))) for r in itertools.product(*map(range, sizes))]


@pytest.mark.parametrize("sizes", [(3,), (3, 4), (2, 2, 3), (3, 3, 2, 5)])
@pytest.mark.parametrize("strength", [1, 2, 3])
def test_everything_meets(sizes: tuple[int, ...], strength: int) -> None:
    rows = _rows(*sizes)
    kept = [rows[i] for i in chosen(rows, strength)]
    wide = min(strength, len(sizes))

    def shown(some: list[tuple[tuple[int, str], ...]]) -> set[object]:
        return {part for row in some for part in itertools.combinations(row, wide)}

    assert shown(kept) == shown(rows)
    least = sorted(sizes)[-wide:]
    assert len(kept) <= 2 * len(list(itertools.product(*map(range, least))))


def test_the_others_are_long(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    covering(n)\n    long\n")

    def count(marks: str) -> int:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "tests.covering", "-p", "no:cacheprovider",
             "-m", marks, "--rootdir", str(tmp_path), str(tmp_path)],
            capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1],
        )  # fmt: skip
        return int(done.stdout.splitlines()[-1].split()[0])

    assert count("not long") == 6 + 3 + 3
    assert count("long") == 6 + 3
