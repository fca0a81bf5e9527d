"""Pictures resized and sampled, against torch."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tests.topi.sweep.by_torch import F, by_torch
from tests.topi.sweep.case import Case, case, floats
from tvm import topi

RESIZE = {"linear": "bilinear", "cubic": "bicubic", "nearest_neighbor": "nearest"}
NEAR = 1e-3


def resized() -> list[Case]:
    cases = []
    for (ours, theirs), ends in product(RESIZE.items(), (False, True)):
        if ours == "nearest_neighbor" and ends:
            continue  # torch has no such mode
        mode = "align_corners" if ends else "half_pixel"
        rounding = ""
        if ours == "nearest_neighbor":
            mode, rounding = "asymmetric", "floor"
        for size in ((8, 10), (7, 3), (2, 2), (4, 5)):
            rule = lambda x, m=theirs, e=ends, s=size: F.interpolate(
                x, s, mode=m, align_corners=None if m == "nearest" else e
            )
            cases.append(
                case("image.resize2d", [floats(1, 2, 4, 5)], by_torch(rule), tolerance=NEAR,
                     symbolic=False, roi=[0.0] * 4, size=size, method=ours,
                     coordinate_transformation_mode=mode, rounding_method=rounding)
            )  # fmt: skip
    for method, mode in product(("linear", "nearest_neighbor"), ("half_pixel", "asymmetric")):
        options = {"method": method, "coordinate_transformation_mode": mode, "tolerance": NEAR}
        single = lambda a, f, n, m=method, c=mode: f(
            a, n, method=m, coordinate_transformation_mode=c
        ).astype("float32")
        cases += [
            case("image.resize1d", [floats(1, 2, 6)], roi=[0.0] * 2, size=(12,), symbolic=False,
                 wanted=lambda a, f=single: f(a, topi.testing.resize1d_python, (2,)), **options),
            case("image.resize3d", [floats(1, 2, 2, 3, 2)], roi=[0.0] * 6, size=(4, 6, 4),
                 symbolic=False, **options,
                 wanted=lambda a, f=single: f(a, topi.testing.resize3d_python, (2, 2, 2))),
        ]  # fmt: skip
    boxes, own = np.float32([[0.1, 0.2, 0.9, 0.7], [0, 0, 1, 1.2]]), np.int32([1, 0])
    for method, layout in product(("bilinear", "nearest_neighbor"), ("NCHW", "NHWC")):
        shape = (2, 3, 6, 6) if layout == "NCHW" else (2, 6, 6, 3)
        cases.append(
            case("image.crop_and_resize", [floats(*shape), boxes, own], symbolic=False,
                 tolerance=NEAR, crop_size=(4, 3), layout=layout, method=method,
                 extrapolation_value=0.0,
                 wanted=lambda *a, x=layout, m=method: topi.testing.crop_and_resize_python(
                     *a, (4, 3), x, m, 0.0).astype("float32"))
        )  # fmt: skip
    twice = lambda a: a.repeat(2, 2).repeat(2, 3)
    cases += [
        case("nn.upsampling", [floats(1, 2, 3, 4)], twice, symbolic=False, scale_h=2.0,
             scale_w=2.0),
        case("nn.upsampling3d", [floats(1, 2, 2, 3, 2)], symbolic=False, scale_d=2.0, scale_h=2.0,
             scale_w=2.0, coordinate_transformation_mode="asymmetric",
             wanted=lambda a: twice(a).repeat(2, 4)),
    ]  # fmt: skip
    return cases


def sampled() -> list[Case]:
    cases = []
    modes = product(("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"),
                    (True, False))  # fmt: skip
    for method, beyond, ends in modes:
        options: dict[str, Any] = {
            "method": method, "padding_mode": beyond, "align_corners": ends, "symbolic": False,
            "tolerance": NEAR,
        }  # fmt: skip
        rule = lambda x, g, o=(method, beyond, ends): F.grid_sample(x, np_last(g), *o)
        grid = floats(2, 2, 4, 3, low=-1.4, high=1.4)
        cases.append(
            case("image.grid_sample", [floats(2, 3, 5, 6), grid], by_torch(rule), **options)
        )
        if method != "bicubic":
            deep = floats(2, 3, 2, 4, 3, low=-1.4, high=1.4)
            cases.append(case("image.grid_sample", [floats(2, 3, 3, 5, 6), deep], by_torch(rule),
                              layout="NCDHW", **options))  # fmt: skip
    cases.append(
        case("image.affine_grid", [floats(2, 2, 3)], tolerance=NEAR, symbolic=False,
             target_shape=(4, 5), wanted=by_torch(lambda t: F.affine_grid(
                 t, [2, 3, 4, 5], align_corners=True).permute(0, 3, 1, 2)))
    )  # fmt: skip
    return cases


def np_last(grid: Any) -> Any:
    """Coordinates in the last dimension, as torch has them."""
    return grid.permute(0, *range(2, grid.ndim), 1)


def matched() -> list[Case]:
    x, y = floats(1, 4, 6, 6), floats(1, 3, 10, 10)
    cases = [
        case("nn.deformable_conv2d_nchw", [x, floats(1, 18 * n, 6, 6), floats(2, 4 // g, 3, 3)],
             symbolic=False, tolerance=NEAR, strides=1, padding=1, dilation=1, deformable_groups=n,
             groups=g, out_dtype="float32",
             wanted=lambda *a, n=n, g=g: topi.testing.deformable_conv2d_nchw_python(
                 *a, 1, 1, 1, n, g))
        for n, g in ((1, 1), (2, 1), (1, 2))
    ]  # fmt: skip
    cases += [
        case("nn.correlation_nchw", [y, y + 1], symbolic=False, tolerance=NEAR, kernel_size=3,
             max_displacement=2, stride1=1, stride2=2, padding=2, is_multiply=product_,
             wanted=lambda a, b, m=product_: topi.testing.correlation_nchw_python(
                 a, b, 3, 2, 1, 2, 2, m))
        for product_ in (True, False)
    ]  # fmt: skip
    return cases


CASES = [*resized(), *sampled(), *matched()]
