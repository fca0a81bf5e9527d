from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.topi.image.onnx_reference import run
from tests.topi.numerics import close, evaluate, floats
from tvm import te, tir, topi
from tvm.error import ShapeError
from tvm.tir import interp
from tvm.topi.image import resize

pytestmark = pytest.mark.pure
MODES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")


def wanted(x: Any, size: Any, method: str, mode: str, **attrs: Any) -> Any:
    sizes = np.array([*x.shape[:2], *size], "int64")
    return run("Resize", [x, None, None, sizes], mode=method, coordinate_transformation_mode=mode,
               **attrs)  # fmt: skip


@pytest.mark.covering(2)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [(10, 12), (3, 4), (7, 5)])
@pytest.mark.parametrize("method", ["linear", "cubic"])
def test_pictures(mode: str, size: Any, method: str) -> None:
    x = floats(1, 2, 5, 6)
    op = lambda a: topi.image.resize2d(a, None, size, "NCHW", method, mode)
    close(evaluate(op, x), wanted(x, size, method, mode), 1e-4, 1e-4)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_nearest(mode: str, rounding: str) -> None:
    x = floats(1, 2, 5, 6)
    op = lambda a: topi.image.resize2d(
        a, None, (8, 3), "NCHW", "nearest_neighbor", mode, rounding
    )  # fmt: skip
    close(evaluate(op, x), wanted(x, (8, 3), "nearest", mode, nearest_mode=rounding))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [(8, 3), (10, 12)])
def test_rounding_that_is_not_given(mode: str, size: Any) -> None:
    x = floats(1, 2, 5, 6)

    def nearest(rounding: str) -> Any:
        op = lambda a: topi.image.resize2d(a, None, size, "NCHW", "nearest", mode, rounding)
        return evaluate(op, x)

    close(nearest(""), nearest("round" if mode == "align_corners" else "floor"))


def test_rows_and_volumes() -> None:
    row, volume = floats(1, 2, 7), floats(1, 2, 3, 4, 5)
    got = evaluate(lambda a: topi.image.resize1d(a, None, (11,)), row)
    close(got, wanted(row, (11,), "linear", "half_pixel"), 1e-4, 1e-5)
    got = evaluate(lambda a: topi.image.resize3d(a, None, (5, 2, 8)), volume)
    close(got, wanted(volume, (5, 2, 8), "linear", "half_pixel"), 1e-4, 1e-5)


def test_layouts() -> None:
    x = floats(1, 4, 5, 6)
    base = evaluate(lambda a: topi.image.resize2d(a, None, (7, 9)), x)
    last = evaluate(
        lambda a: topi.image.resize2d(a, None, (7, 9), "NHWC"), x.transpose(0, 2, 3, 1).copy()
    )
    close(last, base.transpose(0, 2, 3, 1))
    blocked = x.reshape(1, 2, 2, 5, 6).transpose(0, 1, 3, 4, 2).copy()
    got = evaluate(lambda a: topi.image.resize2d(a, None, (7, 9), "NCHW2c"), blocked)
    close(got, base.reshape(1, 2, 2, 7, 9).transpose(0, 1, 3, 4, 2))


def test_cubic_without_the_outside() -> None:
    x = floats(1, 1, 5, 5)
    op = lambda a: topi.image.resize2d(
        a, None, (9, 9), method="cubic", bicubic_alpha=-0.5, bicubic_exclude=1
    )  # fmt: skip
    reference = wanted(x, (9, 9), "cubic", "half_pixel", cubic_coeff_a=-0.5, exclude_outside=1)
    close(evaluate(op, x), reference, 1e-4, 1e-4)


def test_region_of_interest() -> None:
    x = floats(1, 1, 6, 8)
    roi = np.array([0, 0, 0.1, 0.2, 1, 1, 0.7, 1.3], "float32")
    sizes = np.array([1, 1, 4, 5], "int64")
    reference = run("Resize", [x, roi, None, sizes], mode="linear", extrapolation_value=7.0,
                    coordinate_transformation_mode="tf_crop_and_resize")  # fmt: skip
    op = lambda a: topi.image.resize2d(
        a, (0.1, 0.2, 0.7, 1.3), (4, 5), method="linear", extrapolation_value=7.0,
        coordinate_transformation_mode="tf_crop_and_resize",
    )  # fmt: skip
    close(evaluate(op, x), reference, 1e-4, 1e-4)


def test_crop_and_resize() -> None:
    x = floats(2, 3, 6, 8)
    boxes = np.array([[0, 0, 1, 1], [0.2, 0.1, 0.6, 0.9]], "float32")
    which = np.array([1, 0], "int32")
    got = evaluate(lambda *t: topi.image.crop_and_resize(*t, (4, 4)), x, boxes, which)
    for k, (box, image) in enumerate(zip(boxes, which)):
        one = x[image : image + 1]
        roi = (*map(float, box),)
        op = lambda a, r=roi: topi.image.resize2d(
            a, r, (4, 4), coordinate_transformation_mode="tf_crop_and_resize"
        )  # fmt: skip
        close(got[k : k + 1], evaluate(op, one), 1e-5, 1e-5)


def test_places() -> None:
    x = te.var("x")
    assert interp.evaluate(resize.get_inx(x, 4, 8, "asymmetric", use_int_div=True), {x: 5}) == 2
    assert resize.can_convert_multiply_to_intdiv(4, 12)
    assert not resize.can_convert_multiply_to_intdiv(4, 6)
    weights = resize.cubic_weights(tir.const(0.3, "float32"), -0.75)
    assert sum(interp.evaluate(w) for w in weights) == pytest.approx(1)


def test_refuses() -> None:
    x = te.placeholder((1, 2, 5, 6))
    with pytest.raises(ValueError, match=r"coordinate_transformation_mode: 'half'"):
        topi.image.resize2d(x, None, (3, 3), coordinate_transformation_mode="half")
    with pytest.raises(ValueError, match=r"method 'area'"):
        topi.image.resize2d(x, None, (3, 3), method="area")
    with pytest.raises(ValueError, match=r"rounding method: 'up'"):
        topi.image.resize2d(x, None, (3, 3), method="nearest_neighbor", rounding_method="up")
    with pytest.raises(ValueError, match=r"HWCN layout"):
        topi.image.resize2d(x, None, (3, 3), "HWCN")
    with pytest.raises(ShapeError, match=r"a size of 1 extents"):
        topi.image.resize2d(x, None, (3,))


@pytest.mark.parametrize("mode", ["half_pixel", "pytorch_half_pixel"])
def test_pixels_of_one_size_stay_where_they_are(mode: str) -> None:
    x = te.placeholder((1, 1, 4), name="x")
    found = topi.image.resize1d(x, (0.0, 0.0), (4,), "NCW", "linear", mode)
    assert "T.float32(0.5)" not in te.create_prim_func([x, found]).script()
