"""Convolutions with kernels in tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay

pytestmark = pytest.mark.cpu


def run(func: Any, *args: Any) -> Any:
    return relay.create_executor("graph", tvm.IRModule.from_expr(func)).evaluate()(*args).numpy()


@pytest.mark.parametrize(
    ("kernel", "filters", "tile", "options"),
    [
        ((3, 3), 8, (4, 9), {"padding": (1, 1)}),
        ((3, 3), 5, (4, 16), {"strides": (2, 1), "padding": (1, 0, 0, 2)}),
        ((2, 1), 6, (4, 4), {"dilation": (2, 2)}),
    ],
)
def test_tiles_give_what_kernels_give(
    kernel: tuple[int, int], filters: int, tile: tuple[int, int], options: dict[str, Any]
) -> None:
    rng = np.random.default_rng(0)
    data = rng.normal(size=(2, 6, 7, 3)).astype("float32")
    weight = rng.normal(size=(*kernel, 3, filters)).astype("float32")
    x, w = relay.var("x", shape=data.shape), relay.var("w", shape=weight.shape)
    said: Any = {"channels": filters, "kernel_size": kernel, "data_layout": "NHWC",
                 "kernel_layout": "HWIO", **options}  # fmt: skip
    tiles = relay.nn.contrib_conv2d_gemm_weight_transform(w, *tile)
    made = relay.nn.contrib_conv2d_gemm_without_weight_transform(x, tiles, **said)
    plain = relay.nn.conv2d(x, w, **said)
    found = run(relay.Function([x, w], made), data, weight)
    wanted = run(relay.Function([x, w], plain), data, weight)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_tiles_reach_over_the_matrix_with_zeros() -> None:
    weight = np.arange(1, 13, dtype="float32").reshape(1, 1, 3, 4)
    w = relay.var("w", shape=weight.shape)
    func = relay.Function([w], relay.nn.contrib_conv2d_gemm_weight_transform(w, 3, 2))
    found = run(func, weight)
    assert found.shape == (2, 2, 3, 2)
    matrix = np.zeros((4, 6), "float32")
    matrix[:3, :4] = weight[0, 0]
    np.testing.assert_array_equal(found, matrix.reshape(2, 2, 2, 3).transpose(2, 0, 3, 1))


@pytest.mark.parametrize(
    ("options", "why"),
    [({"data_layout": "NCHW"}, "layouts"), ({"groups": 2}, "groups"), ({}, "numbers for both")],
)
def test_what_tiles_do_not_say(options: dict[str, Any], why: str) -> None:
    x, w = relay.var("x", shape=(1, 4, 4, 2)), relay.var("w", shape=(1, 1, 4, 4))
    with pytest.raises(tvm.TVMError, match=why):
        relay.nn.contrib_conv2d_gemm_without_weight_transform(
            x, w, **{"data_layout": "NHWC", **options}
        )
