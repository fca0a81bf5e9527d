from __future__ import annotations

import pytest

from tvm.backend.llvm.lanes import at_elements, lane_gap, lanes_of
from tvm.tir import Var
from tvm.tir import expr as e
from tvm.tir.buffer import decl_buffer

pytestmark = pytest.mark.pure

X = Var("x", "int32")
RAMP = e.Ramp(0, 1, 8)


def splat(value: object) -> e.Broadcast:
    return e.Broadcast(value, 8)


@pytest.mark.parametrize(
    ("index", "lanes"),
    [
        (RAMP, list(range(8))),
        (e.Ramp(3, 2, 8) * splat(2), [4 * i for i in range(8)]),
        (e.FloorDiv(RAMP, splat(4)), [0, 0, 0, 0, 1, 1, 1, 1]),
        (e.FloorMod(RAMP, splat(3)) - splat(1), [0, 1, 2, 0, 1, 2, 0, 1]),
        (e.FloorDiv(e.Ramp(-3, 1, 8), splat(2)), [-2, -1, -1, 0, 0, 1, 1, 2]),
        (e.Min(RAMP, splat(5)), [0, 1, 2, 3, 4, 5, 5, 5]),
    ],
)
def test_constant_lanes(index: e.PrimExpr, lanes: list[int]) -> None:
    found = lanes_of(splat(X) + index)
    assert found is not None
    assert found[1] == lanes


def test_lanes_that_depend_on_more() -> None:
    assert lanes_of(e.FloorDiv(e.Ramp(X, 1, 8), splat(4))) is None
    assert lanes_of(RAMP * splat(X)) is None
    assert lanes_of(e.Ramp(0, X, 8)) is None
    assert lanes_of(e.FloorDiv(RAMP, splat(0))) is None


def test_how_far_lanes_are_apart() -> None:
    found = lane_gap(splat(X) + RAMP, splat(5))
    assert found is not None
    assert found[2:] == (list(range(8)), True)
    found = lane_gap(splat(5), splat(X) - RAMP)
    assert found is not None
    assert found[2:] == (list(range(8)), False)


def test_data_is_no_place() -> None:
    data = e.BufferLoad(decl_buffer((8,), "int32"), [0])
    assert lane_gap(e.Ramp(data, 1, 8), splat(X)) is None
    assert lane_gap(RAMP, splat(data)) is not None  # what a place is compared with may be data
    assert lane_gap(splat(X), splat(5)) is None  # no lane moves
    assert lane_gap(X, X) is None


def test_masks_of_lanes_as_masks_of_elements() -> None:
    lanes = list(range(0, 16, 2))
    mask = e.And(e.LE(e.Ramp(X, 2, 8), splat(9)), splat(e.LT(X, 3)))
    found = at_elements(mask, lanes, 8, 4)
    assert str(found) == (
        "T.Ramp(x + 8, 1, 4) <= T.Broadcast(9, 4) and T.Broadcast(x < 3, 4)"
    )
    assert at_elements(e.LT(RAMP, splat(5)), lanes, 0, 8) is None  # half a lane is none
    assert at_elements(e.LT(RAMP, splat(5)), [0, 0, 1, 1, 2, 2, 3, 3], 0, 4) is None
