"""Operators of neural networks in torch agree with their meaning in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm.relax import op

from .torch_running import Build, assert_same_in_torch, floats, ints

pytestmark = pytest.mark.cpu
X = floats(2, 4, 6)
LINE, PICTURE, BODY = floats(2, 4, 9), floats(2, 4, 8, 9), floats(1, 4, 5, 6, 7)
GAMMA, BETA, MEAN = floats(4), floats(4), floats(4)
VAR = floats(4, low=0.5)
nn = op.nn

CASES: dict[str, tuple[Build, list[np.ndarray[Any, Any]]]] = {
    "adaptive_avg_pool1d": (lambda x: nn.adaptive_avg_pool1d(x, 4), [LINE]),
    "adaptive_avg_pool2d": (lambda x: nn.adaptive_avg_pool2d(x, (3, 2)), [PICTURE]),
    "adaptive_avg_pool2d NHWC": (
        lambda x: nn.adaptive_avg_pool2d(x, (3, 2), layout="NHWC"), [PICTURE]
    ),
    "adaptive_avg_pool3d": (lambda x: nn.adaptive_avg_pool3d(x, (2, 3, 1)), [BODY]),
    "attention": (
        lambda q, k, v: nn.attention(q, k, v),
        [floats(2, 5, 3, 4), floats(2, 7, 3, 4), floats(2, 7, 3, 6)],
    ),
    "attention causal": (
        lambda q, k, v: nn.attention(q, k, v, scale=0.3, causal_mask="TopLeft"),
        [floats(2, 5, 3, 4), floats(2, 7, 3, 4), floats(2, 7, 3, 6)],
    ),
    "attention in a window": (
        lambda q, k, v: nn.attention(q, k, v, causal_mask="BottomRight", window_size=3),
        [floats(2, 5, 3, 4), floats(2, 7, 3, 4), floats(2, 7, 3, 6)],
    ),
    "avg_pool1d": (lambda x: nn.avg_pool1d(x, 3, 2), [LINE]),
    "avg_pool2d": (lambda x: nn.avg_pool2d(x, (3, 2), (2, 1), (1, 1)), [PICTURE]),
    "avg_pool2d counted": (
        lambda x: nn.avg_pool2d(x, 3, 2, 1, count_include_pad=True), [PICTURE]
    ),
    "avg_pool3d": (lambda x: nn.avg_pool3d(x, 2, 2), [BODY]),
    "batch_norm": (
        lambda *a: nn.batch_norm(*a, axis=1, training=False), [PICTURE, GAMMA, BETA, MEAN, VAR]
    ),
    "batch_norm in training": (
        lambda *a: nn.batch_norm(*a, axis=1, momentum=0.3), [PICTURE, GAMMA, BETA, MEAN, VAR]
    ),
    "batch_norm last": (
        lambda *a: nn.batch_norm(*a, axis=2, center=False, scale=False, training=False),
        [floats(3, 5, 4), GAMMA, BETA, MEAN, VAR],
    ),
    "conv1d": (lambda x, w: nn.conv1d(x, w, 2, 1, 2), [LINE, floats(6, 4, 3)]),
    "conv1d_transpose": (
        lambda x, w: nn.conv1d_transpose(x, w, 2, 1, 1), [LINE, floats(4, 6, 3)]
    ),
    "conv2d": (lambda x, w: nn.conv2d(x, w, 1, 1, groups=2), [PICTURE, floats(6, 2, 3, 3)]),
    "conv2d uneven": (
        lambda x, w: nn.conv2d(x, w, (2, 1), (0, 1, 2, 3)), [PICTURE, floats(6, 4, 3, 3)]
    ),
    "conv2d NHWC": (
        lambda x, w: nn.conv2d(
            x, w, data_layout="NHWC", kernel_layout="HWIO", out_layout="NCHW"
        ),
        [floats(2, 8, 9, 4), floats(3, 3, 4, 5)],
    ),
    "conv2d_transpose": (
        lambda x, w: nn.conv2d_transpose(x, w, 2, 1, 1, groups=2), [PICTURE, floats(4, 3, 3, 3)]
    ),
    "conv2d_transpose uneven": (
        lambda x, w: nn.conv2d_transpose(x, w, 2, (0, 1, 1, 0)), [PICTURE, floats(4, 3, 3, 3)]
    ),
    "conv3d": (lambda x, w: nn.conv3d(x, w, 1, 1), [BODY, floats(3, 4, 2, 3, 3)]),
    "cross_entropy_with_logits": (nn.cross_entropy_with_logits, [floats(3, 5), floats(3, 5)]),
    "dropout": (lambda x: nn.dropout(x, 0.3), [X]),
    "gelu": (nn.gelu, [X]),
    "gelu_tanh": (nn.gelu_tanh, [X]),
    "group_norm": (
        lambda x, g, b: nn.group_norm(x, g, b, 2, 1, [2, 3]), [PICTURE, GAMMA, BETA]
    ),
    "group_norm last": (
        lambda x, g, b: nn.group_norm(x, g, b, 2, -1, [1, 2]), [floats(2, 5, 6, 4), GAMMA, BETA]
    ),
    "instance_norm": (
        lambda x, g, b: nn.instance_norm(x, g, b, 1, [2, 3]), [PICTURE, GAMMA, BETA]
    ),
    "layer_norm": (lambda x, g, b: nn.layer_norm(x, g, b, [-1]), [X, floats(6), floats(6)]),
    "layer_norm inside": (
        lambda x, g, b: nn.layer_norm(x, g, b, [1]), [PICTURE, GAMMA, BETA]
    ),
    "leakyrelu": (lambda x: nn.leakyrelu(x, 0.1), [X]),
    "log_softmax": (lambda x: nn.log_softmax(x), [X]),
    "max_pool1d": (lambda x: nn.max_pool1d(x, 3, 2, 1), [LINE]),
    "max_pool2d": (lambda x: nn.max_pool2d(x, 3, 2, 1, 2), [PICTURE]),
    "max_pool2d uneven": (lambda x: nn.max_pool2d(x, 3, 2, (0, 1, 1, 0)), [PICTURE]),
    "max_pool2d NHWC": (lambda x: nn.max_pool2d(x, 2, 2, layout="NHWC"), [PICTURE]),
    "max_pool3d": (lambda x: nn.max_pool3d(x, 2, 2, ceil_mode=True), [BODY]),
    "nll_loss": (
        lambda x, t, w: nn.nll_loss(x, t, w, "mean", 1), [floats(5, 4), ints(5), VAR]
    ),
    "nll_loss of pictures": (
        lambda x, t: nn.nll_loss(x, t, None, "none"), [PICTURE, ints(2, 8, 9)]
    ),
    "pad": (lambda x: nn.pad(x, (0, 0, 1, 0, 2, 3), pad_value=1.5), [X]),
    "pad reflected": (lambda x: nn.pad(x, (0, 0, 0, 0, 2, 3), "reflect"), [X]),
    "pixel_shuffle": (lambda x: nn.pixel_shuffle(x, 2), [PICTURE]),
    "prelu": (nn.prelu, [PICTURE, GAMMA]),
    "prelu of a vector": (lambda x, s: nn.prelu(x, s, 0), [floats(7), floats(1)]),
    "relu": (nn.relu, [X]),
    "relu6": (lambda x: nn.relu6(op.multiply(x, x)), [floats(9, high=4)]),
    "rms_norm": (lambda x, w: nn.rms_norm(x, w, [-1]), [X, floats(6)]),
    "selu": (nn.selu, [X]),
    "silu": (nn.silu, [X]),
    "softmax": (lambda x: nn.softmax(x, 1), [X]),
    "softplus": (lambda x: nn.softplus(x, 2.0, 1.0), [X]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_same_as_numpy(name: str) -> None:
    build, arrays = CASES[name]
    assert_same_in_torch(f"nn.{name.partition(' ')[0]}", build, arrays)


def test_pieces_of_channels_are_numpys() -> None:
    build: Build = lambda x: nn.max_pool2d(x, 2, 2, layout="NCHW4c")
    assert_same_in_torch("nn.max_pool2d", build, [floats(1, 2, 4, 4, 4)], by_torch=False)
