"""Winograd's convolution of volumes, its kernel transformed beforehand, against plain sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import te, tir
from tvm.error import ShapeError
from tvm.tir import interp
from tvm.topi.nn.conv3d import conv3d_winograd_weight_transform
from tvm.topi.nn.conv3d_winograd import conv3d_ncdhw_winograd_without_weight_transform as winograd
from tvm.topi.testing import conv3d_ncdhw_python

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("depth", "tile", "padding"), [(3, 2, 1), (1, 4, (0, 1, 1)), (2, 2, (1, 0, 2, 0, 1, 0))]
)
def test_numbers(depth: int, tile: int, padding: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (1, 2, 3, 4, 5)).astype("float32")
    w = rng.uniform(-1, 1, (2, 2, depth, 3, 3)).astype("float32")
    a, b = te.placeholder(x.shape, name="a"), te.placeholder(w.shape, name="b")
    kernel = conv3d_winograd_weight_transform(b, tile)
    made = winograd(a, kernel, tile, 1, padding, 1, None, depth)
    out = np.zeros([int(extent) for extent in made.shape], "float32")
    interp.run(te.create_prim_func([a, b, made]), x, w, out)
    front = (padding,) * 3 if isinstance(padding, int) else padding[:3]
    behind = front if isinstance(padding, int) or len(padding) == 3 else padding[3:]
    padded = np.pad(x, [(0, 0), (0, 0), *zip(front, behind)])
    np.testing.assert_allclose(out, conv3d_ncdhw_python(padded, w, 1, 0), rtol=1e-4, atol=1e-4)


def test_open_batches() -> None:
    n = tir.Var("n", "int64")
    a = te.placeholder((n, 2, 6, 6, 6), name="a")
    b = te.placeholder((4, 4, 4, 3, 2), name="b")
    assert winograd(a, b, 2, 1, 0, 1).shape[0].same_as(n)


@pytest.mark.parametrize(("option", "value"), [("strides", 2), ("dilation", 2), ("tile_size", 9)])
def test_refuses(option: str, value: int) -> None:
    a = te.placeholder((1, 2, 6, 6, 6), name="a")
    b = te.placeholder((4, 4, 4, 3, 2), name="b")
    given = {"tile_size": 2, "strides": 1, "padding": 0, "dilation": 1, option: value}
    with pytest.raises(ShapeError, match=r"conv3d_winograd.*\n  found: .*\n  legal: "):
        winograd(a, b, **given)
