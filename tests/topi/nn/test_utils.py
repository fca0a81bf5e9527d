from __future__ import annotations

import pytest

from tvm import te
from tvm.error import ShapeError
from tvm.topi.nn import utils

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("padding", "wanted"),
    [
        (1, (1, 1, 1, 1)), ((1, 2), (1, 2, 1, 2)), ((1, 2, 3, 4), (1, 2, 3, 4)),
        ("VALID", (0, 0, 0, 0)), ("SAME", (1, 2, 1, 1)),
    ],
)  # fmt: skip
def test_forms_of_padding(padding: object, wanted: tuple[int, ...]) -> None:
    assert utils.get_pad_tuple(padding, (3, 4)) == wanted


def test_other_dimensions() -> None:
    assert utils.get_pad_tuple1d(2, (3,)) == (2, 2)
    assert utils.get_pad_tuple1d((1, 2), 3) == (1, 2)
    assert utils.get_pad_tuple3d((1, 2, 3), (3, 3, 3)) == (1, 2, 3, 1, 2, 3)
    with pytest.raises(ShapeError, match=r"len\(kernel\) or len\(kernel\) \* 2"):
        utils.get_pad_tuple((1, 2, 3), (3, 3))
    with pytest.raises(ValueError, match=r"Unknown padding option FULL"):
        utils.get_pad_tuple("FULL", (3, 3))


def test_sizes_from_shapes() -> None:
    data, padded = te.placeholder((1, 3, 8, 8)), te.placeholder((1, 3, 10, 12))
    assert utils.infer_pad(data, None) == (0, 0)
    assert utils.infer_pad(data, padded) == (1, 2)
    kernel, out = te.placeholder((4, 3, 3, 3)), te.placeholder((1, 4, 4, 5))
    assert utils.infer_stride(padded, kernel, out) == (2, 2)
    volume, wide = te.placeholder((1, 4, 5, 6, 2)), te.placeholder((1, 6, 7, 8, 2))
    assert utils.infer_pad3d(volume, wide, "NDHWC") == (2, 2, 2)
    assert utils.infer_pad3d(volume, None, "NDHWC") == (0, 0, 0)
    with pytest.raises(ValueError, match=r"Layout NCHW"):
        utils.infer_pad3d(volume, wide, "NCHW")
