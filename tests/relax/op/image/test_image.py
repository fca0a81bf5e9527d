"""Odd cases of images."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import info, shape_of, var
from tvm import tir
from tvm.error import TVMError
from tvm.relax import op
from tvm.relax.op.image.image import _nearest, _source, _weights

pytestmark = pytest.mark.pure

N, H = tir.Var("n", "int64"), tir.Var("h", "int64")


def test_sizes_in_all_forms() -> None:
    assert shape_of(op.image.resize2d(var(N, 3, 8, 8), (H, 5))) == (N, 3, H, 5)
    assert shape_of(op.image.resize2d(var(N, 8, 8, 3), 4, layout="NHWC")) == (N, 4, 4, 3)
    assert info(op.image.resize2d(var(N, 3, 8, 8), 4, out_dtype="float16")).dtype == "float16"
    assert op.image.resize2d(var(N, 3, 8, 8), 4, roi=0.5).attrs.roi == (0.5,) * 4


def test_wrong_size() -> None:
    with pytest.raises(TVMError, match="size must have 2 numbers"):
        info(op.image.resize2d(var(1, 3, 8, 8), (1, 2, 3)))


@pytest.mark.parametrize(
    ("mode", "places"),
    [
        ("half_pixel", [-0.25, 0.25, 0.75, 1.25]),
        ("align_corners", [0, 1 / 3, 2 / 3, 1]),
        ("asymmetric", [0, 0.5, 1, 1.5]),
    ],
)
def test_places_in_the_input(mode: str, places: list[float]) -> None:
    assert [_source(i, 2, 4, mode, 0, 1) for i in range(4)] == pytest.approx(places)


def test_between_two_pixels_the_numbers_of_programs_decide() -> None:
    """6.5 * 114 / 13 is 57; in 64 bits it comes out above, and 57 would be the nearer one."""
    options = {"coordinate_transformation_mode": "half_pixel", "method": "nearest_neighbor",
               "rounding_method": "round_prefer_floor"}  # fmt: skip
    assert _weights(114, 13, options, 0, 0)[6].argmax() == 56


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [("round", 3), ("round_prefer_floor", 2), ("round_prefer_ceil", 3), ("floor", 2), ("ceil", 3)],
)
def test_rounding(rounding: str, expected: int) -> None:
    assert _nearest(2.5, rounding) == expected
