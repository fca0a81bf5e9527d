"""Shapes that do not fit are refused: what reads beyond an end is no number to compute with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tvm import te, tir, topi
from tvm.error import ShapeError

pytestmark = pytest.mark.pure
nn = topi.nn


def t(*shape: int, dtype: str = "float32", name: str = "x") -> te.Tensor:
    return te.placeholder(shape, dtype, name)


def i(*shape: int) -> te.Tensor:
    return t(*shape, dtype="int32", name="index")


RANKS: dict[str, Callable[[], Any]] = {
    "4 dimensions: n, c, h, w": lambda: nn.depth_to_space(t(2, 3), 2),
    "4 dimensions: n, h, w, c": lambda: nn.space_to_depth(t(2, 3), 2, "NHWC"),
    "4 dimensions: o, i, h, w": lambda: nn.conv2d_nchw(t(1, 3, 4, 4), t(3, 3), 1, 0, 1),
    "3 dimensions: n, c, w": lambda: nn.conv1d_ncw(t(2, 3), t(2, 3, 3)),
    "5 dimensions: n, c, h, w, b": lambda: nn.unpack_NCHWc_to_nchw(t(1, 2, 3, 3), "float32"),
    "3 dimensions: b, n, k": lambda: topi.vision.get_valid_counts(t(2, 3)),
    "3 dimensions: t, b, i": lambda: nn.lstm(t(2, 4), t(12, 4), t(12, 3)),
    "2 dimensions: m, k": lambda: nn.dense_pack(t(3), t(2, 5, 4)),
    "batch, channels, and one to three more": lambda: nn.conv1d_transpose_ncw(
        t(4), t(4), 1, 0, "float32", 0
    ),
    "four": lambda: nn.depthwise_conv2d_backward_input_nhwc(
        t(3, 3, 4, 1), t(1, 5, 5, 4), (1, 5, 5, 4), (5, 5), (1, 1), (0, 0)
    ),
    "at least 2": lambda: topi.matrix_set_diag(t(3), t(3)),
    "at least 1": lambda: topi.gather_nd(t(3), i()),
}
EXTENTS: dict[str, Callable[[], Any]] = {
    "depthwise_conv2d_nchw: channels of data and kernel": lambda: nn.depthwise_conv2d_nchw(
        t(1, 4, 5, 5), t(2, 1, 3, 3), 1, 0, 1
    ),
    "depthwise_conv2d_nhwc: channels of data and kernel": lambda: nn.depthwise_conv2d_nhwc(
        t(1, 5, 5, 4), t(3, 3, 2, 1), 1, 0, 1
    ),
    "transposed convolution: channels of data and kernel": lambda: nn.conv2d_transpose_nchw(
        t(1, 4, 5, 5), t(3, 2, 3, 3), (1, 1), 0, None, (0, 0)
    ),
    "dilation2d_nchw: channels of data and kernel": lambda: topi.image.dilation2d_nchw(
        t(1, 4, 5, 5), t(3, 2, 2), 1, 0, 1
    ),
    "binary_dense: words of data and weight": lambda: nn.binary_dense(
        t(2, 3, dtype="uint32"), t(4, 2, dtype="uint32")
    ),
    "lstm: columns of wi": lambda: nn.lstm(t(3, 2, 4), t(12, 5, name="wi"), t(12, 3)),
    "fifo_buffer: dimension 0 of data and buffer": lambda: nn.fifo_buffer(
        t(1, 1, 3), t(2, 4, 3), 1
    ),
    "nll_loss: dimensions of targets and predictions": lambda: nn.nll_loss(
        t(5, 4), i(4), t(4), "mean", -1
    ),
    "nll_loss: weights and classes": lambda: nn.nll_loss(t(5, 4), i(5), t(3), "mean", -1),
    "pool_grad: dimension 3 of the gradients": lambda: nn.pool_grad(
        t(1, 2, 4, 4), t(1, 2, 7, 6), [3, 3], [2, 2], [1, 1, 1, 1], "max"
    ),
    "topi.sequence_mask: sequences and their lengths": lambda: topi.sequence_mask(t(4, 3), i(4)),
    "topi.sparse_to_dense: indices and values": lambda: topi.sparse_to_dense(i(3), (5,), t(2)),
    "topi.gather: dimension 0 of the indices": lambda: topi.gather(t(3, 4), 1, i(4, 2)),
    "topi.matrix_set_diag: the longest diagonal": lambda: topi.matrix_set_diag(t(2, 3, 4), t(2, 2)),
    "topi.matrix_set_diag: leading dimensions": lambda: topi.matrix_set_diag(t(2, 3, 4), t(1, 3)),
    "deformable_conv2d_nchw: channels of the offsets": lambda: nn.deformable_conv2d_nchw(
        t(1, 4, 6, 6), t(1, 17, 6, 6), t(2, 4, 3, 3), 1, 1, 1, 1, 1, None
    ),
    "depthwise_conv2d_backward_input_nhwc: extents of the gradient": lambda: (
        nn.depthwise_conv2d_backward_input_nhwc(
            t(3, 3, 2, 1), t(1, 4, 5, 2), (1, 5, 5, 2), (1, 5, 5, 2), 1, 1
        )
    ),
    "depthwise_conv2d_backward_weight_nhwc: channels of data": lambda: (
        nn.depthwise_conv2d_backward_weight_nhwc(
            t(1, 5, 5, 3), t(1, 5, 5, 2), (1, 5, 5, 2), (3, 3, 2, 1), 1, 1
        )
    ),
    "topi.slice_scatter: dimension 1 of data and source": lambda: topi.slice_scatter(
        t(4, 5), t(2, 4), 0, 2, 1, 0
    ),
    "topi.scatter_elements: dimension 0 of indices and updates": lambda: topi.scatter_elements(
        t(4, 4), i(3, 3), t(2, 3)
    ),
    "topi.argsort: rows and their counts": lambda: topi.argsort(t(3, 5), i(2)),
    "crop_and_resize: boxes and their pictures": lambda: topi.image.crop_and_resize(
        t(2, 3, 6, 6), t(2, 4), i(3), (4, 4)
    ),
    "topi.stack": lambda: topi.stack([]),
    "topi.concatenate": lambda: topi.concatenate([]),
}


@pytest.mark.parametrize("legal", RANKS)
def test_other_ranks(legal: str) -> None:
    with pytest.raises(ShapeError, match=f"legal: {legal}"):
        RANKS[legal]()


@pytest.mark.parametrize("asked", EXTENTS)
def test_extents_that_differ(asked: str) -> None:
    with pytest.raises(ShapeError) as error:
        EXTENTS[asked]()
    assert asked in str(error.value)
    assert "legal: " in str(error.value)


def test_open_extents_are_left_to_the_run() -> None:
    n = te.size_var("n")
    assert nn.depthwise_conv2d_nchw(
        te.placeholder((1, n, 5, 5)), te.placeholder((2, 1, 3, 3)), 1, 0, 1
    ).ndim == 4  # fmt: skip


def test_indices_given_as_floating_numbers_are_cut() -> None:
    element = topi.gather_nd(t(4), t(1, 2)).op.body[0]
    assert isinstance(element.indices[0], tir.Cast)


def test_logarithms_of_numbers() -> None:
    assert topi.math.ceil_log2(9) == 4
    assert str(topi.math.ceil_log2(te.var("x", "float32"))) == "T.ceil(T.log2(x))"
