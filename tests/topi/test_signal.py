from __future__ import annotations

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi
from tvm.error import ShapeError

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("inverse", [0, 1])
def test_dft(inverse: int) -> None:
    re, im = floats(2, 9), floats(2, 9, seed=1)
    wanted = (np.fft.ifft if inverse else np.fft.fft)(re + 1j * im)
    got = evaluate(lambda a, b: topi.dft(a, b, te.const(inverse)), re, im)
    close(got[0], wanted.real, 1e-4, 1e-5)
    close(got[1], wanted.imag, 1e-4, 1e-5)


@pytest.mark.parametrize("normalized", [False, True])
def test_stft(normalized: bool) -> None:
    x, window = floats(2, 20), np.hanning(8).astype("float32")
    frames = np.stack([x[:, k : k + 8] for k in range(0, 13, 4)], 1) * window
    wanted = np.fft.rfft(frames).transpose(0, 2, 1) / (np.sqrt(8) if normalized else 1)
    got = evaluate(lambda a, w: topi.stft(a, 8, 4, 8, w, normalized, True, (2, 5, 4, 2)), x, window)
    close(got[..., 0], wanted.real, 1e-4, 1e-4)
    close(got[..., 1], wanted.imag, 1e-4, 1e-4)


@pytest.mark.parametrize(
    ("shape", "found"),
    [((2, 5, 5, 2), r"\['2', '5', '5', '2'\] for 20 samples"), ((2, 5, 4), "for 20 samples")],
)
def test_frames_beyond_the_end(shape: tuple[int, ...], found: str) -> None:
    data, window = te.placeholder((2, 20)), te.placeholder((8,))
    with pytest.raises(ShapeError, match=f"shape of the output\n  found: .*{found}"):
        topi.stft(data, 8, 4, 8, window, False, True, shape)
