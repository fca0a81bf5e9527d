"""Copies that exchange the dimension along memory, of sizes that squares do not divide."""

from __future__ import annotations

import pytest

from tests.dlight.programs import HASWELL, SPR, scheduled
from tvm import te, tir, topi
from tvm.dlight.cpu import TurnedParts
from tvm.target import Target

H, W = (tir.Var(name, "int64") for name in "hw")
Shape = tuple[int | tir.Var, ...]


def turned(shape: Shape, axes: list[int], dtype: str = "float32") -> tir.PrimFunc:
    extents = [tir.IntImm("int64", e) if isinstance(e, int) else e for e in shape]
    x = te.placeholder(extents, name="X", dtype=dtype)
    return te.create_prim_func([x, topi.transpose(x, axes)])


@pytest.mark.parametrize("target", [HASWELL, SPR])
@pytest.mark.parametrize(
    ("shape", "axes", "sizes", "parts"),
    [
        ((2, H, 16), [0, 2, 1], {"h": 21}, 2),
        ((2, H, 16), [0, 2, 1], {"h": 3}, 2),
        ((2, 16, H), [0, 2, 1], {"h": 16}, 2),
        ((H, 2, W), [2, 1, 0], {"h": 17, "w": 19}, 3),
        ((H, 2, W), [2, 1, 0], {"h": 0, "w": 19}, 3),
        ((1, 17, 35), [0, 2, 1], {}, 3),
    ],
)
def test_squares_and_edges(
    target: Target, shape: Shape, axes: list[int], sizes: dict[str, int], parts: int
) -> None:
    after = scheduled(TurnedParts(), turned(shape, axes), target, sizes)
    reason = str(after.attrs["schedule_reason"])
    assert reason.count("turned in registers") == 1
    assert reason.count("T_transpose:") == parts


@pytest.mark.pure
@pytest.mark.parametrize(
    ("shape", "axes"),
    [((16, 32), [1, 0]), ((H, 3), [1, 0]), ((H, W, 8), [1, 0, 2]), ((24, 8), [1, 0])],
)
def test_others_are_left_to_the_general_rule(shape: Shape, axes: list[int]) -> None:
    """Squares alone, fewer elements than one has, or rows that stay as they are."""
    assert TurnedParts().apply(turned(shape, axes), SPR, False) is None
