"""Pictures from the bytes of their files."""

from __future__ import annotations

import io

import numpy as np
import pytest

import tvm
from tvm.error import ArgumentValueError

image = pytest.importorskip("PIL.Image")


@pytest.mark.parametrize("file_format", ["PNG", "BMP", "PPM", "TIFF"])
def test_colours_and_greys(file_format: str) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (3, 5, 3)).astype("uint8")
    file = io.BytesIO()
    image.fromarray(pixels).save(file, file_format)
    stream = tvm.runtime.tensor(np.frombuffer(file.getvalue(), np.uint8))
    decode = tvm.get_global_func("tvm.contrib.images.decode")
    np.testing.assert_array_equal(decode(stream, "RGB").numpy(), pixels)
    np.testing.assert_array_equal(decode(stream, "BGR").numpy(), pixels[:, :, ::-1])
    assert decode(stream, "Grayscale").numpy().shape == (3, 5, 1)


def test_other_bytes() -> None:
    decode = tvm.get_global_func("tvm.contrib.images.decode")
    with pytest.raises(ArgumentValueError, match="3 bytes in which Pillow reads no picture"):
        decode(tvm.runtime.tensor(np.zeros(3, "uint8")), "RGB")
