"""Maps between index spaces."""

import itertools

import numpy as np
import pytest

import tvm
from tests.arith.fuzz import evaluate
from tvm import tir
from tvm.arith import Analyzer
from tvm.error import ShapeError, TVMError
from tvm.ir import Range, structural_equal
from tvm.runtime import tensor
from tvm.tir import IndexMap
from tvm.tir import expr as e

pytestmark = pytest.mark.pure
n = e.Var("n", "int64")


def ints(exprs) -> list[int]:
    return [int(x) for x in exprs]


def test_from_func() -> None:
    made = IndexMap.from_func(lambda i, j: [j, i])
    assert [v.name for v in made.initial_indices] == ["i", "j"]
    assert made.initial_indices[0].dtype == "int64"
    star = IndexMap.from_func(lambda *a: a[::-1], ndim=3, index_dtype="int32")
    assert ints(star.map_indices([1, 2, 3])) == [3, 2, 1]
    made, cuts = IndexMap.from_func_with_separators(
        lambda i, j: [i, IndexMap.AXIS_SEPARATOR, j]
    )
    assert cuts == [1]
    small = IndexMap.from_func(lambda i: [i // 4, i % 4], index_dtype="int32")
    assert str(small) == 'T.index_map(lambda i: (i // 4, i % 4), index_dtype="int32")'


@pytest.mark.parametrize(
    ("function", "ndim", "error", "text"),
    [
        (lambda i: "i", None, TypeError, "returns a str; legal: an index, a list or tuple"),
        (lambda i: ["x"], None, TypeError, "returns 'x'"),
        (lambda *a: a, None, TVMError, "needs ndim"),
        (lambda i, **k: [i], None, TVMError, r"takes \*\*k"),
        (lambda i: [i, IndexMap.AXIS_SEPARATOR], None, TVMError, "from_func_with_separators"),
    ],
)
def test_bad_functions(function, ndim, error, text) -> None:
    with pytest.raises(error, match=text):
        IndexMap.from_func(function, ndim)


def test_map_shape() -> None:
    tiled = IndexMap.from_func(lambda i, j: [i // 4, j // 16, i % 4, j % 16])
    assert ints(tiled.map_shape([8, 64])) == [2, 4, 4, 16]
    assert ints(tiled.map_shape([7, 65])) == [2, 5, 4, 16]
    wide = IndexMap.from_func(lambda i: [i // 4, i % 4])
    rows, inner = wide.map_shape([n])
    for size in (4, 5, 7, 8):
        assert evaluate(rows, {n: size}) == -(-size // 4)
    assert int(inner) == 4
    with pytest.raises(ShapeError, match=r"starts at T.int64\(3\)"):
        IndexMap.from_func(lambda i: [i + 3]).map_shape([4])
    with pytest.raises(ShapeError, match="2 indices are given to a map of 1"):
        wide.map_indices([1, 2])


def test_equivalence() -> None:
    a = IndexMap.from_func(lambda i, j: [i * 4 + j])
    assert a.is_equivalent_to(IndexMap.from_func(lambda p, q: [q + p * 4]))
    assert not a.is_equivalent_to(IndexMap.from_func(lambda p, q: [q * 4 + p]))
    assert not a.is_equivalent_to(IndexMap.from_func(lambda p: [p]))


BIJECTIONS = [
    (lambda i: [i], [16]),
    (lambda i: [i // 4, i % 4], [16]),
    (lambda i, j: [j, i], [3, 5]),
    (lambda i, j: [i * 4 + j], [3, 4]),
    (lambda i, j: [j // 4, i, j % 4], [3, 8]),
    (lambda i, j: [i // 2, j // 4, i % 2, j % 4], [4, 8]),
    (lambda i: [i // 8, (i % 8) // 4, i % 4], [32]),
    (lambda i, j: [i, j], [1, 6]),
]


@pytest.mark.parametrize(("function", "shape"), BIJECTIONS)
def test_inverse(function, shape) -> None:
    made = IndexMap.from_func(function)
    back = made.inverse(shape)
    for place in itertools.product(*[range(extent) for extent in shape]):
        assert ints(back.map_indices(made.map_indices(place))) == list(place)


def test_the_text_is_that_of_tvmscript() -> None:
    made = IndexMap.from_func(lambda i, j: [i // 4, j, i % 4])
    text = "T.index_map(lambda i, j: (i // T.int64(4), j, i % T.int64(4)))"
    assert str(made) == repr(made) == made.script() == text


def test_steps_leave_gaps() -> None:
    with pytest.raises(TVMError, match="is not invertible"):
        IndexMap.from_func(lambda i: [i * 2]).inverse([16])


def test_no_inverse() -> None:
    for function, shape in [(lambda i: [i // 4], [16]), (lambda i: [i // 4, i % 4], [14])]:
        with pytest.raises(TVMError, match="is not invertible on the shape"):
            IndexMap.from_func(function).inverse(shape)
    given = IndexMap.from_func(lambda i: [i * 2], inverse_index_map=lambda i: [i // 2])
    assert ints(given.inverse([4]).map_indices([6])) == [3]


PADDED = [
    (lambda i: [i // 4, i % 4], [16], lambda i, j: False),
    (lambda i: [i // 4, i % 4], [14], lambda i, j: tir.And(i == 3, j >= 2)),
    (lambda i: [(i + 1) // 4, (i + 1) % 4], [15], lambda i, j: tir.And(i == 0, j < 1)),
    (lambda i: [(i + 1) // 4, (i + 1) % 4], [14],
     lambda i, j: tir.Or(tir.And(i == 0, j < 1), tir.And(i == 3, j == 3))),
    (lambda i, j: [i // 4, j // 8, i % 4, j % 8], [6, 20], None),
]  # fmt: skip


@pytest.mark.parametrize(("function", "shape", "expected"), PADDED)
def test_inverse_with_padding(function, shape, expected) -> None:
    made = IndexMap.from_func(function)
    back, padding = made.non_surjective_inverse(shape)
    box = made.map_ranges([Range(0, extent) for extent in shape])
    images = {tuple(ints(made.map_indices(p))) for p in itertools.product(*map(range, shape))}
    for place in itertools.product(*[range(int(r.min), int(r.min + r.extent)) for r in box]):
        values = dict(zip(back.initial_indices, place))
        assert bool(evaluate(padding, values)) is (place not in images), place
        if place in images:
            old = ints(back.map_indices(place))
            assert ints(made.map_indices(old)) == list(place)
    if expected is not None:
        wanted = Analyzer().simplify(e.as_expr(expected(*back.initial_indices)))
        assert structural_equal(padding, wanted), f"{padding} is not {wanted}"


def test_symbolic_padding() -> None:
    made = IndexMap.from_func(lambda i: [i // 4, i % 4])
    back, padding = made.non_surjective_inverse([n])
    for size in range(1, 10):
        for i, j in itertools.product(range(-(-size // 4)), range(4)):
            env = {back.initial_indices[0]: i, back.initial_indices[1]: j, n: size}
            assert bool(evaluate(padding, env)) is (i * 4 + j >= size)


def test_map_tensor() -> None:
    data = np.arange(6 * 10, dtype="float32").reshape(6, 10)
    moved = IndexMap.from_func(lambda i, j: [j // 4, i, j % 4]).map_tensor(tensor(data)).numpy()
    assert moved.shape == (3, 6, 4)
    for i, j in np.ndindex(6, 10):
        assert moved[j // 4, i, j % 4] == data[i, j]
    assert (moved[2, :, 2:] == 0).all()
    with pytest.raises(TVMError, match="legal: integer arithmetic"):
        IndexMap.from_func(lambda i: [tir.Select(i < 2, i, i)]).map_tensor(tensor(data[0]))


def test_a_remainder_has_all_its_places() -> None:
    """i % 16 over 14 places is 16 wide: the last two are padding."""
    assert IndexMap.from_func(lambda i: (i % 16,)).map_shape([14]) == [16]
    assert IndexMap.from_func(lambda i: (i // 4, i % 4)).map_shape([2]) == [1, 4]
    assert IndexMap.from_func(lambda i: ((i + 3) // 4, (i + 3) % 4)).map_shape([2]) == [2, 4]
    assert IndexMap.from_func(lambda i, j: (i * 16 + j % 16,)).map_shape([3, 14]) == [48]
    back, padding = IndexMap.from_func(lambda i: (i % 16,)).non_surjective_inverse([14])
    assert back.is_equivalent_to(IndexMap.from_func(lambda i: (i,)))
    assert structural_equal(padding, tir.IntImm("int64", 14) <= back.initial_indices[0])


@pytest.mark.parametrize(
    ("func", "extent", "wanted"),
    [
        (lambda i: [i // 5, i % 5], 24, lambda a, b: tir.And(a == 4, b == 4)),
        (lambda i: [i // 5, i % 5], 4, lambda a, b: b == 4),
        (lambda i: [i // 15, i // 3 % 5, i % 3], 39,
         lambda a, b, c: tir.And(a == 2, b * 3 + c >= 9)),
        (lambda i: [i % 3, i // 15, i // 3 % 5], 39,
         lambda a, b, c: tir.And(b == 2, c * 3 + a >= 9)),
    ],
)  # fmt: skip
def test_what_is_padded_is_told_of_the_whole_remainder(func, extent, wanted) -> None:
    inverse, padded = tir.IndexMap.from_func(func).non_surjective_inverse([extent])
    expected = wanted(*inverse.initial_indices)
    analyzer = tvm.arith.Analyzer()
    tvm.ir.assert_structural_equal(analyzer.simplify(padded), analyzer.simplify(expected))


@pytest.mark.parametrize(
    ("scale", "shift", "size", "parts"),
    [(4, 0, 4, (1, 0)), (4, 0, 2, (2, 0)), (4, 1, 4, (1, 1)), (8, 4, 4, (2, 1)), (6, 5, 3, (2, 2))],
)
def test_a_symbolic_extent_of_known_rest_is_divided(
    scale: int, shift: int, size: int, parts: tuple[int, int]
) -> None:
    n = tir.Var("n", "int64")
    index_map = tir.IndexMap.from_func(lambda i: [i // size, i % size])
    outer, inner = index_map.map_shape([n * scale + shift])
    want = tvm.arith.Analyzer().simplify(n * parts[0] + parts[1])
    tvm.ir.assert_structural_equal(outer, want)
    assert int(inner) == size


def test_a_symbolic_extent_is_rounded_up() -> None:
    n = tir.Var("n", "int64")
    index_map = tir.IndexMap.from_func(lambda i: [i // 5, i % 5])
    outer, inner = index_map.map_shape([n])
    tvm.ir.assert_structural_equal(outer, (n - n % -5) // 5)
    assert int(inner) == 5
    inverse, padded = index_map.non_surjective_inverse([n])
    a, b = inverse.initial_indices
    tvm.ir.assert_structural_equal(
        padded, tir.And(n % -5 != 0, tir.And(a == n // 5, tir.LE(n % 5, b)))
    )


def test_quotients_that_are_always_zero_stay_in_the_map_back() -> None:
    for step, size in ((5, 4), (5, 5), (8, 3)):  # of one variable
        given = IndexMap.from_func(lambda i: [i // step, i % step])  # noqa: B023
        back, _ = given.non_surjective_inverse([size])
        assert str(back.final_indices[0]) == f"axis0 * T.int64({step}) + axis1"

def test_extents_that_are_computed_are_no_less_than_zero() -> None:
    """Whether a product of truncated quotients is negative is hard to tell; an extent never is."""
    a, b = e.Var("a", "int64"), e.Var("b", "int64")
    one, two, eight = (tir.const(k, "int64") for k in (1, 2, 8))
    places = (tir.floordiv(tir.div(a - one, eight), two) + one) * (
        tir.floordiv(tir.div(b - one, eight), two) + one
    )
    made = IndexMap.from_func(lambda i, j, k: [i * places + k, j])
    rows, columns = made.map_shape([n, tir.const(4, "int64"), places])
    assert int(columns) == 4
    for sizes in ({n: 3, a: 33, b: 17}, {n: 1, a: 1, b: 1}):
        assert evaluate(rows, sizes) == sizes[n] * evaluate(places, sizes)


def test_an_extent_may_be_a_quotient_of_quotients() -> None:
    """Rounded up to a multiple of eight, in parts as many as it has multiples: eight, or so."""
    a, b = e.Var("a", "int64"), e.Var("b", "int64")
    rounded = a - a % -8
    many = tir.floordiv(rounded, tir.const(8, "int64"))
    size = tir.floordiv(rounded, many)
    made = IndexMap.from_func(lambda i, j, k: [(i * many + j) * size + k])
    (rows,) = made.map_shape([b, many, size])
    assert evaluate(rows, {a: 13, b: 3}) == 3 * 2 * 8


def test_types_of_mapped_indices() -> None:
    i, j, wide = tir.Var("i", "int32"), tir.Var("j", "int32"), tir.Var("w", "int64")
    index_map = tir.IndexMap.from_func(lambda a, b: [a // 4, b, a % 4])
    assert [str(x.dtype) for x in index_map.map_indices([i, j])] == ["int64", "int32", "int64"]
    assert [str(x) for x in index_map.map_indices([7, 5])] == ["T.int64(1)", "5", "T.int64(3)"]
    narrow = tir.IndexMap.from_func(lambda a, b: [a // 4, b, a % 4], index_dtype="int32")
    assert [str(x.dtype) for x in narrow.map_indices([wide, j])] == ["int64", "int32", "int64"]
    assert index_map.is_equivalent_to(narrow)
    assert narrow.is_equivalent_to(index_map)


def test_shapes_of_multiples_have_room_for_the_last_step() -> None:
    for function, shape, expected in (
        (lambda i: [i * 2], [8], ["16"]),
        (lambda i, j: [i * 8 + j * 2], [3, 4], ["24"]),
        (lambda i, j: [i // 4 * 2, j], [9, 3], ["6", "3"]),
        (lambda i: [i * 4 // 2], [8], ["16"]),
        (lambda i, j: [i * 4 + j], [8, 3], ["31"]),  # no map of digits: from the bounds
    ):
        assert [str(x) for x in tir.IndexMap.from_func(function).map_shape(shape)] == expected
    n = tir.Var("n", "int32")
    (wide,) = tir.IndexMap.from_func(lambda i: [i * 2]).map_shape([n])
    assert str(wide.dtype) == "int32"
