"""Layouts: extents by letter, arrays there and back, padding."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.op.cases import info, shape_of, var
from tvm.error import DTypeError, ShapeError, TVMError
from tvm.relax import op
from tvm.relax.op import layouts
from tvm.relax.op.layouts import (
    axes_of,
    from_plain,
    layout_parts,
    letters_of,
    padding_of,
    spread,
    to_plain,
)

pytestmark = pytest.mark.pure


def test_parts() -> None:
    assert layout_parts("NCHW4c") == ((0, "N"), (0, "C"), (0, "H"), (0, "W"), (4, "c"))
    assert axes_of("NHWC", "HW") == [1, 2]
    assert letters_of("NC", 3) == "NCDHW"


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW2c", "CNHW"])
def test_arrays_there_and_back(layout: str) -> None:
    plain = np.arange(2 * 4 * 3 * 5).reshape(2, 4, 3, 5)
    packed = from_plain(plain, layout, "NCHW")
    assert packed.ndim == len(layout_parts(layout))
    np.testing.assert_array_equal(to_plain(packed, layout, "NCHW"), plain)


def test_extents_in_packed_layouts() -> None:
    pool = op.nn.max_pool2d(var(1, 2, 6, 6, 4), (2, 2), (2, 2), layout="NCHW4c")
    assert shape_of(pool) == (1, 2, 3, 3, 4)
    changed = op.nn.max_pool2d(var(1, 8, 6, 6), (2, 2), (2, 2), out_layout="NHWC")
    assert shape_of(changed) == (1, 3, 3, 8)


@pytest.mark.parametrize("layout", ["NCH", "NCHWc", "NCHH", "nCHW", "NCHW4x"])
def test_wrong_layouts_are_refused(layout: str) -> None:
    with pytest.raises(TVMError, match="the layout of data does not fit"):
        info(op.nn.max_pool2d(var(1, 8, 6, 6), layout=layout))


def test_wrong_number_of_dimensions() -> None:
    with pytest.raises(TVMError, match="data must have 4 dimensions"):
        info(op.nn.max_pool2d(var(8, 6, 6)))


def test_numbers_for_each_dimension() -> None:
    assert spread(2, 3, "x") == (2, 2, 2)
    assert spread([1, 2], 2, "x") == (1, 2)
    assert padding_of(1, 2) == (1, 1, 1, 1)
    assert padding_of([1, 2], 2) == (1, 2, 1, 2)
    assert padding_of([1, 2, 3, 4], 2) == (1, 2, 3, 4)
    with pytest.raises(ValueError, match="x must have 1 or 2 numbers"):
        spread([1, 2, 3], 2, "x")
    with pytest.raises(ValueError, match="padding must have 1, 2 or 4 numbers"):
        padding_of([1, 2, 3], 2)


@pytest.mark.parametrize("value", [0, (1, 0), -2])
def test_steps_are_positive(value: object) -> None:
    with pytest.raises(ShapeError, match="f: strides must be 1 or more"):
        layouts.positive(value, 2, "f: strides")


@pytest.mark.parametrize("value", ["same", (1.5, 2), [None]])
def test_numbers_are_whole(value: object) -> None:
    with pytest.raises(DTypeError, match="padding is no integer"):
        layouts.padding_of(value, 2)
