from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tvm import tir
from tvm.arith import Analyzer
from tvm.ir import Range
from tvm.ir.structural import structural_equal
from tvm.tir import IndexMap, floordiv, floormod
from tvm.tir.schedule.analysis import suggest_index_map

I, J = tir.Var("i", "int32"), tir.Var("j", "int32")
CASES: list[tuple[Sequence[int], list, list[int], Callable | None]] = [
    # tiles: the digits of both loops, in the order of the loops
    (
        (8, 256),
        [floordiv(I, 16) * 4 + floordiv(J, 16), floormod(I, 16) * 16 + floormod(J, 16)],
        [32, 64],
        lambda x, y: [floordiv(x, 4), floordiv(y, 16), floormod(x, 4), floormod(y, 16)],
    ),
    ((64, 32), [J, I], [32, 64], lambda x, y: [y, x]),
    ((32, 64), [I, J], [32, 64], lambda x, y: [x, y]),
    # both parts of a fused loop, the outer first, though its place in the index is the inner one
    (
        (8, 12),
        [floormod(I, 2) * 4 + floordiv(J, 3), floordiv(I, 2) * 3 + floormod(J, 3)],
        [8, 12],
        lambda x, y: [floordiv(y, 3), floordiv(x, 4), floormod(x, 4), floormod(y, 3)],
    ),
    ((32, 64), [I * 2, J], [16, 64], None),  # every second row only
    ((32, 64), [I * J, J], [16, 64], None),
    ((32,), [tir.const(3, "int32")], [16, 64], None),
]


@pytest.mark.parametrize(("shape", "indices", "extents", "expected"), CASES)
def test_maps(
    shape: Sequence[int], indices: list, extents: list[int], expected: Callable | None
) -> None:
    loops = [
        tir.For(var, 0, extent, tir.ForKind.SERIAL, tir.Evaluate(0))
        for var, extent in zip((I, J), extents)
    ]
    buffer = tir.decl_buffer(shape)
    found = suggest_index_map(buffer, indices, loops, True)
    if expected is None:
        assert found is None
        return
    wanted = IndexMap.from_func(expected, index_dtype="int32")
    assert structural_equal(found, wanted), f"{found} for {wanted}"


def test_the_loops_run_through_the_new_layout() -> None:
    (shape, indices, extents, _), *_ = CASES
    loops = [
        tir.For(var, 0, extent, tir.ForKind.SERIAL, tir.Evaluate(0))
        for var, extent in zip((I, J), extents)
    ]
    found = suggest_index_map(tir.decl_buffer(shape), indices, loops, True)
    analyzer = Analyzer()
    for var, extent in zip((I, J), extents):
        analyzer.bind(var, Range(0, extent))
    placed = [analyzer.simplify(at) for at in found.map_indices(indices)]
    wanted = [floordiv(I, 16), floormod(I, 16), floordiv(J, 16), floormod(J, 16)]
    assert all(structural_equal(a, b) for a, b in zip(placed, wanted))

