"""The largest element of each part of a region."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .convolution import several


def roi_pool_nchw_python(a_np: Any, rois_np: Any, pooled_size: Any, spatial_scale: float) -> Any:
    """(n, c, h, w), (r, 5) -> (r, c, ph, pw); a region is (image, x0, y0, x1, y1)."""
    rows, columns = several(pooled_size, 2)
    _, c, h, w = a_np.shape
    result = np.zeros((len(rois_np), c, rows, columns), a_np.dtype)
    for r, roi in enumerate(rois_np):
        image = int(roi[0])
        x0, y0, x1, y1 = (round(float(v) * spatial_scale) for v in roi[1:])
        tall, wide = max(y1 - y0 + 1, 1) / rows, max(x1 - x0 + 1, 1) / columns
        for i, j in np.ndindex(rows, columns):
            ys = slice(
                min(max(math.floor(i * tall) + y0, 0), h),
                min(max(math.ceil((i + 1) * tall) + y0, 0), h),
            )
            xs = slice(
                min(max(math.floor(j * wide) + x0, 0), w),
                min(max(math.ceil((j + 1) * wide) + x0, 0), w),
            )
            if ys.stop > ys.start and xs.stop > xs.start:
                result[r, :, i, j] = a_np[image, :, ys, xs].max((1, 2))
    return result
