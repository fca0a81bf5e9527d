"""Winograd's convolution in panels means a convolution, by the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from tvm import te
from tvm.tir.interp import run
from tvm.topi.nn.winograd_panels import Panels, transformed_weights, winograd_panels

pytestmark = pytest.mark.pure


def direct(x: np.ndarray, w: np.ndarray, padding: tuple[int, int, int, int]) -> np.ndarray:
    top, left, bottom, right = padding
    wide = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (2, 3))
    return np.einsum("ncyxij,ocij->noyx", windows, w, optimize=True)


@pytest.mark.parametrize(
    ("shape", "outs", "padding", "panels"),
    [
        ((1, 2, 8, 8), 4, (1, 1, 1, 1), Panels(2, 4)),
        ((2, 3, 9, 11), 5, (1, 1, 1, 1), Panels(3, 4)),
        ((1, 1, 6, 6), 1, (0, 0, 0, 0), Panels(1, 1)),
        ((1, 2, 3, 5), 3, (0, 2, 1, 0), Panels(1, 2)),
        ((1, 2, 1, 1), 2, (1, 1, 1, 1), Panels(1, 2)),
    ],
)
def test_is_a_convolution(
    shape: tuple[int, ...], outs: int, padding: tuple[int, int, int, int], panels: Panels
) -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal(shape).astype("float32")
    w = rng.standard_normal((outs, shape[1], 3, 3)).astype("float32")
    u = transformed_weights(w, panels.filters)
    a, b = te.placeholder(shape, name="X"), te.placeholder(u.shape, name="U")
    func = te.create_prim_func([a, b, winograd_panels(a, b, outs, padding, panels)])
    expected = direct(x, w, padding)
    found = np.full(expected.shape, np.nan, "float32")
    run(func, x, u, found)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_the_error_is_that_of_a_direct_sum() -> None:
    rng = np.random.default_rng(4)
    x = rng.standard_normal((1, 16, 8, 8)).astype("float32")
    w = rng.standard_normal((2, 16, 3, 3)).astype("float32")
    u = transformed_weights(w, 2)
    a, b = te.placeholder(x.shape, name="X"), te.placeholder(u.shape, name="U")
    func = te.create_prim_func([a, b, winograd_panels(a, b, 2, (1, 1, 1, 1), Panels(2, 2))])
    found = np.zeros((1, 2, 8, 8), "float32")
    run(func, x, u, found)
    exact = direct(x.astype("float64"), w.astype("float64"), (1, 1, 1, 1))
    assert np.abs(found - exact).max() < 2e-5 * np.sqrt(np.mean(exact**2))


def test_weights_of_missing_filters_are_zero() -> None:
    u = transformed_weights(np.ones((3, 2, 3, 3), "float32"), 2)
    assert u.shape == (2, 36, 2, 2)
    assert u.dtype == np.float32
    assert not u[1, :, :, 1].any()
    assert u[1, :, :, 0].any()
