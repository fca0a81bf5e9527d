"""Operators on pictures."""

from .dilation2d import dilation2d_nchw, dilation2d_nhwc
from .grid_sample import affine_grid, grid_sample
from .resize import crop_and_resize, resize1d, resize2d, resize3d

__all__ = [
    "affine_grid", "crop_and_resize", "dilation2d_nchw", "dilation2d_nhwc", "grid_sample",
    "resize1d", "resize2d", "resize3d",
]  # fmt: skip
