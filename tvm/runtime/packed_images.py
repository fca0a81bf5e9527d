"""`tvm.contrib.images.decode`: pictures from the bytes of their files, by Pillow (an extra)."""

from __future__ import annotations

import io

import numpy as np

from tvm.error import ArgumentValueError, message
from tvm.ffi import register_global_func

from ._tensor import Tensor, host_view, tensor


@register_global_func("tvm.contrib.images.decode", override=True)
def decode(stream: Tensor, pixel_format: str) -> Tensor:
    """The picture in a file's bytes (n,) uint8: (height, width, channels) uint8.

    Raises ArgumentValueError where Pillow reads no picture in them.
    """
    try:
        from PIL import Image  # an extra: only programs that read files of pictures need it
    except ImportError as err:
        raise ImportError(
            message("ImageDecoder: Pillow reads pictures", legal="pip install 'tvm-py[images]'")
        ) from err
    data = host_view(stream).tobytes()
    try:
        with Image.open(io.BytesIO(data)) as opened:
            picture = np.asarray(opened.convert("L" if pixel_format == "Grayscale" else "RGB"))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as err:
        raise ArgumentValueError(
            message(
                "ImageDecoder",
                found=f"{len(data):,} bytes in which Pillow reads no picture: {err}",
                legal="a file of PNG, JPEG, WebP, TIFF, BMP, PNM or JPEG 2000",
            )
        ) from None
    if pixel_format == "Grayscale":
        picture = picture[:, :, None]
    return tensor(np.ascontiguousarray(picture[:, :, ::-1] if pixel_format == "BGR" else picture))
