import pytest

from tvm import tir
from tvm.arith.analyzer import Analyzer
from tvm.ir import Range
from tvm.tir.interp import evaluate
from tvm.tir.transform.index_bounds import IndexBounds

pytestmark = pytest.mark.pure

i, j, n = tir.Var("i"), tir.Var("j"), tir.Var("n")
RUNNING = {i: Range(0, 4), j: Range(1, 6)}


@pytest.mark.parametrize(
    "expr",
    [
        i * 4 + j,
        j - i,
        n * 8 - i,
        tir.floordiv(i * 5 + j, 3),
        tir.floormod(i + 8, 16),
        tir.floormod(i * 3, 5),
        tir.max(i, j) - tir.min(i, 2),
        tir.Select(i < n, i, j),
    ],
)
def test_bounds_hold(expr):
    low, high = IndexBounds(RUNNING, Analyzer()).of(expr)
    values = [evaluate(expr, {i: a, j: b, n: 2}) for a in range(4) for b in range(1, 6)]
    assert evaluate(low, {n: 2}) <= min(values)
    assert max(values) <= evaluate(high, {n: 2})


@pytest.mark.parametrize(("expr", "ends"), [(i * 4 + j, (1, 17)), (n + i - 1, None)])
def test_bounds_are_tight(expr, ends):
    low, high = IndexBounds(RUNNING, Analyzer()).of(expr)
    if ends is not None:
        assert (int(low), int(high)) == ends
    else:
        assert evaluate(high - low, {n: 5}) == 3


def test_facts_narrow():
    bounds = IndexBounds({i: Range(0, 16)}, Analyzer())
    low, high = bounds.of(i - 1, [i >= 1, i < 9])
    assert (int(low), int(high)) == (0, 7)
    low, high = bounds.of(n * 4 + i, [n * 4 + i < 30])
    assert int(evaluate(high, {n: 0})) == 15  # 30 may lie beyond the end of the range
    low, high = bounds.of(i * 2, [i < 3])
    assert int(high) == 30  # of another multiple nothing is said


def test_unknown_ranges_and_memory():
    data = tir.decl_buffer((4,), "int32", "P")
    assert IndexBounds({i: None}, Analyzer()).of(i + 1) is None
    assert IndexBounds(RUNNING, Analyzer()).of(data[i] + 1) is None
    assert IndexBounds({}, Analyzer()).of(data[0]) is None


def test_what_stays_is_its_own_bound():
    f = tir.Var("f", "int32")
    place = f // n
    assert [str(end) for end in IndexBounds(RUNNING, Analyzer()).of(place)] == ["f // n"] * 2
    assert IndexBounds({f: Range(0, 8)}, Analyzer()).of(place) is None
