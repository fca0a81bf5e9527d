from __future__ import annotations

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats, rng
from tvm import topi
from tvm.topi.nn.winograd_util import winograd_arrays, winograd_transform_matrices

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("tile", "taps"), [(2, 3), (4, 3), (6, 3), (2, 5), (4, 1), (7, 3), (8, 3), (8, 5), (8, 7)]
)
def test_matrices_compute_a_convolution(tile: int, taps: int) -> None:
    a, b, g = winograd_arrays(tile, taps, "float64")
    data, kernel = rng().random(tile + taps - 1), rng(1).random(taps)
    wanted = [data[k : k + taps] @ kernel for k in range(tile)]
    np.testing.assert_allclose(a.T @ ((g @ kernel) * (b.T @ data)), wanted, rtol=1e-9)


def test_points_of_known_tiles() -> None:
    """The matrices that are published for tiles of 4, by the points 0, -1, 1, 1/2, -2."""
    a, b, g = winograd_arrays(4, 3, "float64")
    assert a.T[1].tolist() == [0, -1, 1, 0.5, -2, 0]
    assert b.T[0].tolist() == [1, -1.5, -2, 1.5, 1, 0]
    assert b.T[1].tolist() == [0, 1, -2.5, 0.5, 1, 0]
    np.testing.assert_allclose(g[1], np.array([1, -1, 1]) / -3)


def test_stages() -> None:
    a, b, g = winograd_transform_matrices(2, 3, "float32")
    assert [t.op.name for t in (a, b, g)] == ["A", "B", "G"]
    assert [tuple(map(int, t.shape)) for t in (a, b, g)] == [(4, 2), (4, 4), (4, 3)]
    with pytest.raises(ValueError, match=r"need 21 points"):
        winograd_transform_matrices(20, 3, "float32")


@pytest.mark.parametrize("depth", [2, 3])
def test_kernel_transform_of_volumes(depth: int) -> None:
    w = floats(2, 3, depth, 3, 3)
    _, _, g = winograd_arrays(2, 3, "float32")
    if depth == 3:
        wanted = np.einsum("ockij,ek,ni,tj->entoc", w, g, g, g)
    else:
        wanted = np.einsum("ockij,ei,nj->enkoc", w, g, g)
    got = evaluate(lambda k: topi.nn.conv3d_winograd_weight_transform(k, 2), w)
    close(got, wanted, 1e-4, 1e-5)
