from __future__ import annotations

import numpy as np
import pytest

from tests.topi.image.onnx_reference import run
from tests.topi.numerics import close, evaluate, floats, rng
from tvm import te, topi
from tvm.error import ShapeError

pytestmark = pytest.mark.pure


@pytest.mark.covering(2)
@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [False, True])
def test_pictures(method: str, padding: str, align: bool) -> None:
    x = floats(2, 3, 5, 6)
    grid = rng(1).uniform(-1.6, 1.6, (2, 2, 4, 3)).astype("float32")
    wanted = run("GridSample", [x, grid.transpose(0, 2, 3, 1).copy()], 16, mode=method,
                 padding_mode=padding, align_corners=int(align))  # fmt: skip
    op = lambda a, g: topi.image.grid_sample(a, g, method, "NCHW", padding, align)
    close(evaluate(op, x, grid), wanted, 1e-4, 1e-4)


def test_volumes() -> None:
    x = floats(1, 2, 3, 4, 5)
    line = [np.linspace(-1, 1, n, dtype="float32") for n in (3, 4, 5)]
    z, y, xs = np.meshgrid(*line, indexing="ij")
    grid = np.stack([xs, y, z])[None]
    got = evaluate(lambda a, g: topi.image.grid_sample(a, g, layout="NCDHW"), x, grid)
    close(got, x, 1e-4, 1e-4)


def test_affine_grid() -> None:
    theta = floats(2, 2, 3)
    y, x = np.meshgrid(np.linspace(-1, 1, 3), np.linspace(-1, 1, 4), indexing="ij")
    places = np.stack([x, y, np.ones_like(x)])
    wanted = np.einsum("nij,jhw->nihw", theta, places)
    close(evaluate(lambda t: topi.image.affine_grid(t, (3, 4)), theta), wanted, 1e-4, 1e-5)


def test_refuses() -> None:
    x, grid = te.placeholder((1, 2, 5, 6)), te.placeholder((1, 2, 3, 3))
    with pytest.raises(ValueError, match=r"method 'cubic'; legal: bilinear"):
        topi.image.grid_sample(x, grid, "cubic")
    with pytest.raises(ValueError, match=r"padding_mode 'wrap'"):
        topi.image.grid_sample(x, grid, padding_mode="wrap")
    with pytest.raises(ShapeError, match=r"a grid with 2 coordinates"):
        topi.image.grid_sample(x, te.placeholder((1, 3, 3, 3)))
