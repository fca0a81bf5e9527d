"""Iteration maps: what is recognised, and that what is claimed holds at every point."""

from __future__ import annotations

import itertools
import random

import pytest

from tests.arith.fuzz import evaluate, points
from tvm import tir
from tvm.arith import (
    Analyzer,
    IterMapLevel,
    IterSumExpr,
    detect_iter_map,
    inverse_affine_iter_map,
    iter_map_simplify,
    normalize_iter_map_to_expr,
    normalize_to_iter_sum,
    subspace_divide,
)
from tvm.arith.deep_equal import deep_equal
from tvm.error import TVMError
from tvm.ir import Range
from tvm.tir import expr as e

pytestmark = pytest.mark.pure
x, y, z, n = (e.Var(name, "int32") for name in "xyzn")
fld, flm = tir.floordiv, tir.floormod


def dom(**extents) -> dict:
    names = {"x": x, "y": y, "z": z}
    return {names[name]: Range(0, extent) for name, extent in extents.items()}


def shape(made: IterSumExpr) -> tuple:
    """(extent, base, scale) of a map with one digit, (1, base) of a constant."""
    if not made.args:
        return (1, made.base)
    assert len(made.args) == 1
    split = made.args[0]
    return (split.extent, made.base, split.scale)


def check(index, domains, expected, predicate=True, level="surjective") -> None:
    found = detect_iter_map([index], domains, predicate, level)
    assert not found.errors, found.errors
    same = Analyzer().can_prove_equal
    assert all(same(e.as_expr(a), e.as_expr(b)) for a, b in zip(shape(found.indices[0]), expected))


CASES = [
    (x, dom(x=3), (3, 0, 1)),
    (x + 3, dom(x=4), (4, 3, 1)),
    (x * 4, dom(x=4), (4, 0, 4)),
    (x, dom(x=1), (1, 0)),
    (x * 4 + y, dom(x=8, y=4), (32, 0, 1)),
    (fld(x, 4), dom(x=32), (8, 0, 1)),
    (flm(x, 4), dom(x=32), (4, 0, 1)),
    (fld(x * 4 + y, 8), dom(x=8, y=4), (4, 0, 1)),
    (flm(x * 4 + y, 8), dom(x=8, y=4), (8, 0, 1)),
    (fld(x * 4 + y, 4), dom(x=8, y=3), (8, 0, 1)),
    (flm(fld(x, 8), 4) * 8 + flm(x, 8), dom(x=128), (32, 0, 1)),
    (x * 16 + y, dom(x=n, y=16), (n * 16, 0, 1)),
    (x * n + y, dom(x=4, y=n), (n * 4, 0, 1)),
    (fld(x * 16 + y, 16), dom(x=n, y=16), (n, 0, 1)),
    (x * 12 + y * 4 + z + 7, dom(x=5, y=3, z=4), (60, 7, 1)),
    (e.Cast("int32", x) * 4 + y, dom(x=8, y=4), (32, 0, 1)),
]


@pytest.mark.parametrize(("index", "domains", "expected"), CASES)
def test_recognised(index, domains, expected) -> None:
    check(index, domains, expected)


@pytest.mark.parametrize(
    ("indices", "domains", "text"),
    [
        ([x, x], dom(x=4), "overlap or leave a gap"),
        ([x * 5 + y * 2], dom(x=4, y=3), "do not follow one another"),
        ([x * -7 + y], dom(x=3, y=8), "do not follow one another"),
        ([x * 4 + y], dom(x=4, y=3), "do not follow one another"),
        ([x * y], dom(x=4, y=4), "product of two loop variables"),
        ([fld(x, y)], dom(x=4, y=4), "divides by a loop variable"),
        ([fld(x, 4), flm(x, 3)], dom(x=30), "no multiple of 3"),
        ([fld(x, n)], dom(x=4), "may be negative"),
        ([tir.min(x, 3)], dom(x=4), "no affine map"),
        ([fld(x, 4), flm(fld(x, 2), 2)], dom(x=16), None),
        ([fld(x, 2), flm(x, 4)], dom(x=16), "overlap"),
    ],
)
def test_refused_with_a_reason(indices, domains, text) -> None:
    found = detect_iter_map(indices, domains)
    if text is None:
        assert not found.errors
    else:
        assert not found.indices
        assert text in found.errors[0]


def test_levels() -> None:
    quotient = [fld(x, 4)]
    assert detect_iter_map(quotient, dom(x=32)).indices
    assert not detect_iter_map(quotient, dom(x=32), check_level="bijective").indices
    assert not detect_iter_map([x, x], dom(x=4), check_level=IterMapLevel.NoCheck).indices
    skips = [fld(x, 4), flm(x, 2)]  # a digit between them is left out
    assert detect_iter_map(skips, dom(x=8), check_level=IterMapLevel.NoCheck).indices
    unused = detect_iter_map([x], dom(x=4, y=4), check_level=IterMapLevel.Bijective)
    assert "y is not used" in unused.errors[0]
    with pytest.raises(ValueError, match="unknown check level 'onto'; legal: bijective"):
        detect_iter_map([x], dom(x=4), check_level="onto")


def test_predicates() -> None:
    check(x, dom(x=16), (10, 0, 1), x < 10)
    check(x, dom(x=16), (8, 2, 1), tir.all(x < 10, x >= 2))
    check(x * 4 + y, dom(x=8, y=4), (30, 0, 1), x * 4 + y < 30)
    check(x * 4 + y, dom(x=8, y=4), (32, 0, 1), x < 8)
    found = detect_iter_map([x, y], dom(x=8, y=4), x * 4 + y < 30)
    assert "limits no index as a whole" in found.errors[0]
    found = detect_iter_map([x], dom(x=8), x != 3)
    assert "no comparison of a map with a bound" in found.errors[0]
    assert "never holds" in detect_iter_map([x], dom(x=8), x > 9).errors[0]


def test_padding() -> None:
    cases = [
        ([fld(x, 4), flm(x, 4)], dom(x=30), [8, 4]),
        ([fld(x + 1, 4), flm(x + 1, 4)], dom(x=14), [4, 4]),
        ([fld(x * 3 + y + 1, 4), flm(x * 3 + y + 1, 4)], dom(x=5, y=3), [4, 4]),
        ([fld(x, 4)], dom(x=30), [8]),
        ([flm(x + 5, 4), flm(fld(x + 5, 4), 3), fld(x + 5, 12)], dom(x=72), [4, 3, 7]),
        ([fld(x + 7, 6), flm(x + 7, 6)], dom(x=20), [4, 6]),
        ([flm(fld(x + 9, 2), 4), flm(x + 9, 2), fld(x + 9, 8)], dom(x=16), [4, 2, 3]),
    ]
    for indices, domains, extents in cases:
        found = detect_iter_map(indices, domains, check_level="nocheck")
        assert [int(shape(made)[0]) for made in found.indices] == extents
        for values in points(domains):
            made = [evaluate(normalize_iter_map_to_expr(m), values) for m in found.indices]
            assert made == [evaluate(index, values) for index in indices]
            assert not evaluate(found.padding_predicate, values), "no loop runs over padding"
    # the predicate holds where the variable would be, beyond its range
    found = detect_iter_map([fld(x, 4), flm(x, 4)], dom(x=30), check_level="nocheck")
    assert [v for v in range(32) if evaluate(found.padding_predicate, {x: v})] == [30, 31]
    for options in ({"check_level": "bijective"}, {"allow_padding": False}):
        refused = detect_iter_map([fld(x, 4), flm(x, 4)], dom(x=30), **options)
        assert "the extent 30 is no multiple of 4" in refused.errors[0]
    for level in ("nocheck", "surjective"):  # no number of places suits 32 and 48
        uneven = [fld(y + 16, 32), flm(y + 16, 48)]
        assert not detect_iter_map(uneven, dom(y=176), check_level=level).indices
    refused = detect_iter_map([fld(x + 1, 4)], dom(x=30), allow_padding=False)
    assert "the offset 1 is no multiple of 4" in refused.errors[0]


def test_trivial_iterators() -> None:
    kept = detect_iter_map([x], dom(x=1), simplify_trivial_iterators=False)
    assert len(kept.indices[0].args) == 1


def test_normal_sum() -> None:
    made = normalize_to_iter_sum(y + x * 64 + 5, dom(x=4, y=64))
    assert [int(a.scale) for a in made.args] == [64, 1]
    assert int(made.base) == 5


def test_simplified_indices() -> None:
    domains = dom(x=8, y=4, z=3)
    index = [fld(x * 4 + y, 8), flm(x * 4 + y, 8), z]
    found = iter_map_simplify(index, domains)
    for before, after in zip(index, found):
        for values in points(domains):
            assert evaluate(before, values) == evaluate(after, values)
    assert deep_equal(found[0], fld(x * 4 + y, 8)), "a sum stays whole"
    kept = iter_map_simplify([x * y], domains)
    assert deep_equal(kept[0], x * y)


def test_digits_of_one_number_side_by_side_are_one() -> None:
    n = tir.SizeVar("n", "int32")
    whole = fld(x, 4) * 4 + flm(x, 4)
    assert deep_equal(iter_map_simplify([whole], dom(x=32))[0], x)
    (symbolic,) = iter_map_simplify([fld(x, n) * n + flm(x, n)], {x: Range(0, n * 32)})
    assert deep_equal(symbolic, x)


def test_variables_of_one_value_keep_their_order() -> None:
    def kept(index: tir.PrimExpr, **extents: int) -> str:
        found = iter_map_simplify([index], dom(**extents), simplify_trivial_iterators=False)
        return str(found[0])

    assert kept(x + y + z, x=1, y=1, z=1) == "x + y + z"
    assert kept(x + y + fld(z, 4) * 4 + flm(z, 4), x=1, y=1, z=32) == "z + x + y"
    assert kept(x * 8 + y + z, x=16, y=8, z=1) == "x * 8 + y + z"


def test_inverse() -> None:
    i, j = e.Var("i", "int32"), e.Var("j", "int32")
    for index, domains in [
        ([fld(x, 4), flm(x, 4)], dom(x=32)),
        ([x * 4 + y], dom(x=8, y=4)),
        ([fld(x * 4 + y, 8), flm(x * 4 + y, 8)], dom(x=8, y=4)),
        ([y + 3, x], {x: Range(2, 9), y: Range(0, 4)}),
        ([7 - x], dom(x=8)),
    ]:
        found = detect_iter_map(index, domains, check_level="bijective")
        assert not found.errors, found.errors
        outputs = [i, j][: len(index)]
        back = inverse_affine_iter_map(found.indices, outputs)
        for values in points(domains):
            image = {out: evaluate(idx, values) for out, idx in zip(outputs, index)}
            assert {var: evaluate(expr, image) for var, expr in back.items()} == values
    with pytest.raises(TVMError, match="as many outputs as maps"):
        inverse_affine_iter_map([], [i])


@pytest.mark.parametrize("index", [x * 2, x + y], ids=["gaps", "overlap"])
def test_a_map_with_gaps_or_overlap_has_no_inverse(index) -> None:
    found = detect_iter_map([index], dom(x=32, y=4))
    assert not found.errors, found.errors
    with pytest.raises(TVMError, match=r"gaps or its digits overlap: x \* 2|overlap: x \+ y"):
        inverse_affine_iter_map(found.indices, [e.Var("o", "int32")])


def test_subspaces() -> None:
    cases = [
        ([x * 4 + y], dom(x=8, y=4), [y], [(8, 4)]),
        ([z, x * 4 + y], dom(x=8, y=4, z=5), [y], [(5, 1), (8, 4)]),
        ([x * 12 + y * 4 + z], dom(x=8, y=3, z=4), [y, z], [(8, 12)]),
        ([x * 4 + y + 8], dom(x=8, y=4), [y], [(8, 4)]),
    ]
    for bindings, domains, inner, extents in cases:
        found = subspace_divide(bindings, domains, inner)
        assert [(int(a.extent), int(b.extent)) for a, b in found[:-1]] == extents
        for binding, (outer, part) in zip(bindings, found):
            for values in points(domains):
                high = evaluate(normalize_iter_map_to_expr(outer.source), values)
                low = evaluate(normalize_iter_map_to_expr(part.source), values)
                assert high * int(part.extent) + low == evaluate(binding, values)
    assert subspace_divide([x * 4 + y], dom(x=8, y=4), [x]) == []
    # a part of a number that joins both spaces, even where the border falls on a factor
    assert subspace_divide([fld(x * 4 + y, 2)], dom(x=8, y=4), [y]) == []


def test_subspaces_with_loops_of_one_iteration() -> None:
    kept = {"simplify_trivial_iterators": False}
    cases = [
        (x * 4 + y * 4 + z, dom(x=8, y=1, z=4), [z], ("x + y", "z"), (8, 4)),
        (x * 4 + y * 4 + z, dom(x=1, y=8, z=4), [z], ("y + x", "z"), (8, 4)),
        (x * 4 + y * 4 + z, dom(x=8, y=1, z=4), [y, z], ("x", "y * 4 + z"), (8, 4)),
        (x * 4 + y + z, dom(x=8, y=4, z=1), [z], ("x * 4 + y", "z"), (32, 1)),
        (x + y, dom(x=1, y=1), [y], ("x", "y"), (1, 1)),
    ]
    for binding, domains, inner, texts, extents in cases:
        found = subspace_divide([binding], domains, inner, **kept)[0]
        assert tuple(str(normalize_iter_map_to_expr(mark.source)) for mark in found) == texts
        assert tuple(int(mark.extent) for mark in found) == extents
    # one iteration outside, below the digits inside
    assert subspace_divide([x + y], dom(x=1, y=4), [y], **kept) == []


def test_subspace_predicates() -> None:
    found = subspace_divide([x * 4 + y], dom(x=8, y=4), [x, y], x * 4 + y < 30)
    (outer, inner), (outer_holds, inner_holds) = found
    assert (int(outer.extent), int(inner.extent)) == (1, 30)
    assert outer_holds.extent.value == 1
    assert deep_equal(inner_holds.extent, x * 4 + y < 30)


class Loops:
    """A random nest of split and fused loops, as schedules make them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.domains: dict = {}
        count = self.random.randint(1, 3)
        self.indices = [self._leaf() for _ in range(count)]
        for _ in range(self.random.randint(1, 4)):
            self._step()

    def _leaf(self):
        var = e.Var(f"v{len(self.domains)}", "int32")
        extent = self.random.choice((1, 2, 3, 4, 6, 8))
        self.domains[var] = Range(0, extent)
        return (var, extent)

    def moved(self, index):
        """The index stretched, turned, shifted, or divided once more."""
        pick = self.random.random()
        if pick < 0.6:
            return e.as_expr(index)
        moved = index * self.random.choice((1, 2, -1, -2, 3)) + self.random.choice((0, 1, -4, 5))
        if pick < 0.85:
            return moved
        divide = self.random.choice((fld, flm))
        return divide(moved, self.random.choice((2, 3, 4)))

    def _step(self) -> None:
        if self.random.random() < 0.5 and len(self.indices) > 1:
            (a, m), (b, size) = self.indices.pop(0), self.indices.pop(0)
            self.indices.append((a * size + b, m * size))
        else:
            a, m = self.indices.pop(self.random.randrange(len(self.indices)))
            factors = [f for f in (2, 3, 4, 6) if m % f == 0 and m > f]
            if not factors:
                self.indices.append((a, m))
                return
            factor = self.random.choice(factors)
            self.indices += [(fld(a, factor), m // factor), (flm(a, factor), factor)]
        self.random.shuffle(self.indices)


@pytest.mark.parametrize("block", range(4))
def test_claims_hold_at_every_point(block: int) -> None:
    recognised = 0
    for seed in range(block * 100, block * 100 + 100):
        loops = Loops(seed)
        wanted = loops.indices[: loops.random.randint(1, len(loops.indices))]
        indices = [loops.moved(index) for index, _ in wanted]
        level = loops.random.choice(("surjective", "bijective"))
        found = detect_iter_map(indices, loops.domains, check_level=level, allow_padding=False)
        if found.errors:
            continue
        recognised += 1
        images = set()
        for values in points(loops.domains):
            image = tuple(evaluate(index, values) for index in indices)
            made = tuple(evaluate(normalize_iter_map_to_expr(m), values) for m in found.indices)
            assert image == made, f"seed {seed}"
            images.add(image)
        sides = []
        first = next(iter(points(loops.domains)))  # what is left of variables of one iteration
        for made in found.indices:
            extent, base, *scale = [int(evaluate(e.as_expr(part), first)) for part in shape(made)]
            step = scale[0] if scale else 1
            sides.append(range(base, base + extent * step, step if extent > 1 else 1))
        assert images == set(itertools.product(*sides)), f"seed {seed}: not surjective"
        if level == "bijective":
            assert len(images) == len(list(points(loops.domains))), f"seed {seed}: not bijective"
    assert recognised > 30


@pytest.mark.parametrize(("index", "domains", "extent"), [
    (x * 7 + y, dom(x=3, y=8), 22),
    (x * 18 + y * 7 + z, dom(x=2, y=3, z=8), 40),
    (x + y, dom(x=24, y=7), 30),
    (x * 9 + y, dom(x=3, y=8), None),
])  # fmt: skip
def test_digits_that_run_over_one_another(index, domains, extent) -> None:
    values = {evaluate(index, point) for point in points(domains)}
    found = detect_iter_map([index], domains)
    assert not detect_iter_map([index], domains, check_level="bijective").indices
    assert not detect_iter_map([index], domains, allow_padding=False).indices
    if extent is None:
        assert not found.indices
    else:
        assert int(shape(found.indices[0])[0]) == extent
        assert values == set(range(extent))


@pytest.mark.parametrize(("index", "expected"), [
    (n * 8 + x + y, "x + n * 8 + y"),  # n and y are digits of one number, x runs over it
    (y + x + n * 8, "n * 8 + y + x"),
    (n * 8 + x * 2 + y, "x * 2 + n * 8 + y"),
])  # fmt: skip
def test_sums_with_overlaps_have_an_order(index, expected) -> None:
    (found,) = iter_map_simplify([index], {**dom(x=3, y=8), n: Range(0, 4)})
    assert str(found) == expected


def test_what_is_no_map_stays_as_it_is() -> None:
    fused = (x * 4 + y) * 2 + z
    given = [n * 32 + flm(fused, 124), flm(fused, 4)]  # 124 does not divide 128
    kept = iter_map_simplify(given, {**dom(x=16, y=4, z=2), n: Range(0, 3)})
    assert all(a is b for a, b in zip(kept, given))


def test_variables_without_ranges_are_refused() -> None:
    for ask in (detect_iter_map, iter_map_simplify):
        with pytest.raises(TypeError, match="legal: a dict from each variable to its range"):
            ask([x], [x])
    with pytest.raises(TypeError, match="legal: a dict"):
        subspace_divide([x], [x], [])


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_symbolic_scales_from_the_largest(order: tuple[int, ...]) -> None:
    a, b, c, d = (tir.Var(name, "int32") for name in "abcd")
    terms = [a * (n * 6), b * (n * 2), c * n, d]
    total = sum([terms[place] for place in order[1:]], terms[order[0]])
    made = normalize_to_iter_sum(total, {v: Range(0, 3) for v in (a, b, c, d)})
    assert [str(part.scale) for part in made.args] == ["n * 6", "n * 2", "n", "1"]


def test_digits_that_run_over_one_another_with_a_limit() -> None:
    limited = tir.all(x * 7 + y >= 2, x * 7 + y < 20)
    check(x * 7 + y, dom(x=3, y=8), (18, 2, 1), limited)
    check(fld(x * 7 + y, 5), dom(x=3, y=8), (4, 0, 1), x * 7 + y < 20)
    options = {"predicate": x * 7 + y < 20, "check_level": "bijective"}
    found = detect_iter_map([x * 7 + y], dom(x=3, y=8), **options)
    assert "without gaps or overlaps" in found.errors[0]
    other = detect_iter_map([x, y], dom(x=3, y=8), x * 7 + y < 20)
    assert "limits no index as a whole" in other.errors[0]


def test_quotients_of_variables_of_one_iteration_stay_as_written() -> None:
    assert [str(i) for i in iter_map_simplify([fld(z, 4), x], dom(x=8, z=1))] == ["z // 4", "x"]
    digits = [fld(fld(z, 10), 2), fld(z, 5) * 5 + flm(z, 5)]
    assert [str(i) for i in iter_map_simplify(digits, dom(z=1))] == [str(i) for i in digits]
    (kept,) = iter_map_simplify(
        [flm(x * 4 + y, 4)], dom(x=1, y=4), simplify_trivial_iterators=False
    )
    assert str(kept) == "x * 4 + y"


def test_padding_where_nothing_is_checked() -> None:
    index = [fld(x + 1, 2) * 2 + flm(x + 1, 2)]
    quotients = iter_map_simplify([fld(x, 4), fld(y, 3), z], dom(x=6, y=2, z=4))
    assert [str(i) for i in quotients] == ["x // 4", "0", "z"]  # padded, and met by all values
    for level, expected in (("nocheck", "x + 1"), ("surjective", str(index[0]))):
        assert [str(i) for i in iter_map_simplify(index, dom(x=7), check_level=level)] == [expected]


@pytest.mark.parametrize("level", ["surjective", "bijective", "nocheck"])
@pytest.mark.parametrize(("low", "extent"), [(0, 4), (1, 3), (2, 2), (3, 5), (1, 7)])
def test_simplified_indices_keep_their_values(level: str, low: int, extent: int) -> None:
    i, o, j = (tir.Var(name, "int32") for name in "ioj")
    dom = {o: Range(0, 3), i: Range.from_min_extent(low, extent), j: Range(0, 2)}
    for predicate in (tir.const(True, "bool"), (o * 4 + i) * 2 + j < 20):
        for indices in ([o * 2 + i // 2, i % 2 * 2 + j], [i // 3], [(i + 1) // 2, i % 4]):
            found = iter_map_simplify(indices, dom, predicate, level)
            for a, b, c in itertools.product(range(low, low + extent), range(3), range(2)):
                at = {i: a, o: b, j: c}
                if evaluate(predicate, at):
                    wanted = [evaluate(index, at) for index in indices]
                    assert [evaluate(index, at) for index in found] == wanted


def test_a_sum_is_read_with_its_padding() -> None:
    i = tir.Var("i", "int32")
    made = normalize_to_iter_sum(i // 2, {i: Range(1, 4)})
    value = normalize_iter_map_to_expr(made)
    assert [evaluate(value, {i: a}) for a in range(1, 4)] == [0, 1, 1]


def test_sizes_that_are_factors_of_an_extent_divide() -> None:
    n, m, a, b = (tir.Var(name, "int32") for name in "nmab")
    place = a * 64 + b
    doms = {a: Range(0, (n * m + 63) // 64), b: Range(0, 64)}
    found = detect_iter_map([place // m, place % m], doms, place < n * m)
    assert [str(part.args[0].extent) for part in found.indices] == ["n", "m"]
    other = tir.Var("k", "int32")  # may be negative: nothing says that it is a size
    assert not detect_iter_map([place // other], doms, place < n * m).indices
    assert not detect_iter_map([a // n], {a: Range(0, n + 8)}).indices


def test_digits_that_padding_alone_meets_are_not_covered() -> None:
    refused = [
        ([flm(x, 8)], dom(x=3)),
        ([fld(x, 5), flm(x, 5)], dom(x=13)),
        ([fld(x + 3, 4), flm(x + 3, 4)], dom(x=9)),
    ]
    for indices, domains in refused:
        assert detect_iter_map(indices, domains, check_level="nocheck").indices
        for level in ("surjective", "bijective"):
            assert detect_iter_map(indices, domains, check_level=level).errors
    met = [([fld(x, 5)], dom(x=13)), ([fld(x + 3, 4)], dom(x=9)), ([flm(x, 12)], dom(x=14))]
    for indices, domains in met:
        assert not detect_iter_map(indices, domains).errors
    found = detect_iter_map([flm(x, 8)], dom(x=3), check_level="nocheck")
    assert str(found.padding_predicate) == "x // 8 == 0 and x % 8 >= 3"


def test_sums_that_overlap_are_padded() -> None:
    found = detect_iter_map([fld(flm(x, 36) + y, 36)], dom(x=180, y=36))
    assert [shape(made)[0].value for made in found.indices] == [2]
    assert "// 36 == 1" in str(found.padding_predicate)
    assert ">= 35" in str(found.padding_predicate)


def test_predicates_on_digits() -> None:
    both = tir.all(flm(x, 8) >= 2, flm(x, 8) < 6, fld(x, 8) >= 3, fld(x, 8) < 9)
    for level in ("bijective", "surjective", "nocheck"):
        found = detect_iter_map([flm(x, 8), fld(x, 8)], dom(x=128), both, level)
        assert [str(part) for made in found.indices for part in shape(made)] == [
            *("4", "2", "1"),
            *("6", "3", "1"),
        ]
    partly = tir.all(3 <= y * 2 + z, 0 <= x * 5 + y)
    assert detect_iter_map([x * 10 + y * 2 + z], dom(x=10, y=5, z=2), partly).errors


def test_division_keeps_numbers_whole() -> None:
    outer, low, high = (e.Var(name, "int32") for name in ("outer", "low", "high"))
    domains = {outer: Range(0, 3), high: Range(0, 2), low: Range(0, 4), x: Range(0, 3)}
    number = high * 4 + low
    parts = [outer * 2 + fld(number, 4), fld(flm(number, 4), 2), flm(number, 2) * 3 + x]
    divided = subspace_divide(parts, domains, [high, low, x])
    texts = [
        (str(normalize_iter_map_to_expr(a.source)), str(normalize_iter_map_to_expr(b.source)))
        for a, b in divided[:-1]
    ]
    assert texts == [
        ("outer", "(high * 4 + low) // 4"),
        ("0", "(high * 4 + low) % 4 // 2"),
        ("0", "(high * 4 + low) % 2 * 3 + x"),
    ]


def test_sums_with_parts_that_are_no_maps() -> None:
    free = e.Var("free", "int32")
    made = normalize_to_iter_sum(x * 4 + y + tir.max(x, free), dom(x=8, y=4))
    assert [str(arg.scale) for arg in made.args] == ["4", "1"]
    assert str(made.base) == "T.max(x, free)"


def test_sums_keep_numbers_as_they_are() -> None:
    wide, other = e.Var("wide", "int64"), e.Var("other", "int64")
    domains = {wide: Range(0, tir.IntImm("int64", 4096)), other: Range(0, 3)}
    (split,) = normalize_to_iter_sum(fld(wide, 5), domains).args
    shown = [split.lower_factor, split.extent, split.scale, split.source.extent]
    assert [part.value for part in shown] == [5, 820, 1, 4096]
    assert {str(part.dtype) for part in shown} == {"int64"}
    joined = normalize_to_iter_sum(fld(wide, 4) * 4 + flm(wide, 4) + other * 4096, domains)
    assert [(str(a.source.source), a.extent.value) for a in joined.args] == [
        ("other", 3),
        ("wide", 4096),
    ]


def simplified(index: e.PrimExpr, predicate: e.PrimExpr | bool = True, **extents: int) -> str:
    (found,) = iter_map_simplify(
        [index], dom(**extents), predicate, simplify_trivial_iterators=False
    )
    return str(found)


def test_digits_are_put_together_where_others_overlap_them() -> None:
    total = y * 4 + z
    index = x * 8 + fld(total, 4) * 4 + flm(total, 4)
    assert simplified(index, x=5, y=3, z=4) == "x * 8 + (y * 4 + z)"
    index = x * 9 + fld(total, 3) * 6 + flm(total, 3) * 2  # the scales are those of no number
    assert simplified(index, x=5, y=3, z=4) == str(index)


def test_digits_of_a_limited_sum_are_put_together() -> None:
    total = y * 4 + z
    inner = fld(total, 4) * 4 + flm(total, 4)
    assert simplified(x * 10 + inner, inner < 10, x=5, y=3, z=4) == "x * 10 + (y * 4 + z)"


def test_a_limit_of_a_sum_is_known_where_its_digits_are_limited() -> None:
    """x * 4 + y < 15 says how far the quotient goes, though it is written behind the other."""
    total = x * 4 + y
    rest = flm(total, 3) * 16 + z
    index = fld(total, 3) * 40 + rest
    both = tir.all(rest < 40, total < 15)
    (found,) = detect_iter_map([index], dom(x=4, y=4, z=16), both).indices
    assert shape(found)[0] == 200
    sides = tir.all(total < 15, rest < 40)
    assert simplified(index, both, x=4, y=4, z=16) == simplified(index, sides, x=4, y=4, z=16)


@pytest.mark.parametrize("size", [64 * n, n * 64])
def test_products_of_symbols_keep_their_order(size: e.PrimExpr) -> None:
    rows = [fld(x, size), fld(flm(x, size), 64), flm(x, 64)]
    found = iter_map_simplify(rows, {x: Range(0, n * 512)})
    assert [str(f) for f in found] == [str(rows[0]), "x % (64 * n) // 64", "x % 64"]
