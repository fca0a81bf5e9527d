"""The page of conformance is what the script finds, and nothing on it is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import conformance

pytestmark = pytest.mark.cpu
# written out by this project alone, so that no C library decides
CASES = (
    ("float32", ("exp", "tanh", "erf", "pow", "min", "fmod", "cast to int8")),
    ("bfloat16", ("log1p", "nextafter", "max", "isinf")),
    ("float16", ("nextafter", "add", "round")),
    ("int8", ("div", "mod", "floordiv", "floormod", "shift_right", "clz", "abs")),
    ("uint64", ("mul", "floordiv", "cast to float32", "lt")),
)


def cells(lines):
    """The cells of all tables, by operator and type."""
    found, names = {}, []
    for line in lines:
        if line.startswith("| operator"):
            names = [cell.strip() for cell in line.split("|")[2:-1]]
        elif line.startswith("| "):
            operator, *values = [cell.strip() for cell in line.split("|")[1:-1]]
            found.update({(operator, name): v for name, v in zip(names, values) if v})
    return found


def written():
    return cells(conformance.PAGE.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize(("dtype", "operators"), CASES, ids=[dtype for dtype, _ in CASES])
def test_a_part_measured_again(dtype, operators):
    page, found = written(), cells(conformance.table([dtype], operators))
    assert set(found) == {(name, dtype) for name in operators}
    for key, value in found.items():
        assert page[key] == value, "run: python benchmarks/conformance.py --write"


def test_every_cell_is_within_its_bound():
    page = written()
    everything = [*conformance.FLOATS, *conformance.INTEGERS]
    assert set(page) == {(r.name, d) for d in everything for r in conformance.rows_of(d)}
    for key, value in page.items():
        for side in value.split(" / "):
            assert side == "exact" or int(side) <= 4, key


@pytest.mark.parametrize(("found", "wanted", "loose", "steps"), [
    ([1.0, 2.0], [1.0, 2.0], False, 0),
    ([np.nextafter(np.float32(1), np.float32(2))], [1.0], False, 1),
    ([-1e-45], [1e-45], False, 2),
    ([0.0], [-0.0], False, np.inf),
    ([0.0], [-0.0], True, 0),
    ([np.nan], [1.0], False, np.inf),
    ([1.0], [np.nan], False, np.inf),
])  # fmt: skip
def test_distances(found, wanted, loose, steps):
    found, wanted = np.array(found, "float32"), np.array(wanted, "float32")
    assert conformance.distance(found, wanted, loose) == steps
