"""The numpy references against the operators, and against numpy where it has the function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats, rng
from tvm import topi
from tvm.topi import testing

pytestmark = pytest.mark.pure
nn = topi.nn


def turned(a: Any) -> Any:
    return np.moveaxis(a, 1, -1).copy()


@pytest.mark.parametrize("padding", [0, 1, (1, 2), "SAME"])
def test_convolutions(padding: Any) -> None:
    x, w = floats(2, 4, 6, 7), floats(6, 4, 3, 3, seed=1)
    op = lambda a, b: nn.conv2d_nchw(a, b, 2, padding, 1)
    base = evaluate(op, x, w)
    close(testing.conv2d_nchw_python(x, w, 2, padding), base, 1e-4, 1e-4)
    last = testing.conv2d_nhwc_python(turned(x), w.transpose(2, 3, 1, 0), 2, padding)
    close(last, turned(base), 1e-4, 1e-4)
    hwcn = testing.conv2d_hwcn_python(x.transpose(2, 3, 1, 0), w.transpose(2, 3, 1, 0), 2, padding)
    close(hwcn, base.transpose(2, 3, 1, 0), 1e-4, 1e-4)


def test_convolutions_of_other_dimensions() -> None:
    x, w = floats(2, 4, 9), floats(6, 2, 3, seed=1)
    got = evaluate(lambda a, b: nn.group_conv1d_ncw(a, b, 1, 1, 2, 2), x, w)
    close(testing.group_conv1d_ncw_python(x, w, 1, 1, 2, 2), got, 1e-4, 1e-4)
    wide = testing.dilate_np(floats(6, 4, 3, seed=1), 2)
    close(
        testing.conv1d_ncw_python(x, floats(6, 4, 3, seed=1), 1, 1, 2),
        testing.conv1d_ncw_python(x, wide, 1, 1, 1), 1e-4, 1e-4,
    )  # fmt: skip
    v, k = floats(1, 2, 4, 4, 4), floats(3, 2, 2, 2, 2, seed=1)
    got = evaluate(lambda a, b: nn.conv3d_ncdhw(a, b, 1, 1, 1, 1), v, k)
    close(testing.conv3d_ncdhw_python(v, k, 1, 1), got, 1e-4, 1e-4)
    last = testing.conv3d_ndhwc_python(turned(v), k.transpose(2, 3, 4, 1, 0), 1, 1)
    close(last, turned(got), 1e-4, 1e-4)


def test_transposed_convolutions() -> None:
    x, w = floats(1, 4, 3, 4), floats(4, 6, 3, 2, seed=1)
    got = evaluate(lambda a, b: nn.conv2d_transpose_nchw(a, b, 2, 1, None, (1, 0)), x, w)
    close(testing.conv2d_transpose_nchw_python(x, w, 2, 1, (1, 0)), got, 1e-4, 1e-4)
    last = testing.conv2d_transpose_nhwc_python(
        turned(x), w.transpose(2, 3, 0, 1), "HWIO", 2, 1, (1, 0)
    )
    close(last, turned(got), 1e-4, 1e-4)
    with pytest.raises(ValueError, match=r"an order of H, W, I, O"):
        testing.conv2d_transpose_nhwc_python(x, w, "OIXY", 1, 0)
    row, k = floats(1, 4, 5), floats(4, 3, 3, seed=1)
    got = evaluate(lambda a, b: nn.conv1d_transpose_ncw(a, b, 2, 1, None, (1,)), row, k)
    close(testing.conv1d_transpose_ncw_python(row, k, 2, 1, (1,)), got, 1e-4, 1e-4)
    grouped = testing.group_conv1d_transpose_ncw_python(row, k, 2, 1, (1,), 2)
    assert grouped.shape == (1, 6, 10)
    v, c = floats(1, 2, 2, 3, 2), floats(2, 3, 2, 2, 2, seed=1)
    got = evaluate(lambda a, b: nn.conv3d_transpose_ncdhw(a, b, 2, 0, None, (0, 0, 1)), v, c)
    close(testing.conv3d_transpose_ncdhw_python(v, c, 2, 0, (0, 0, 1)), got, 1e-4, 1e-4)


def test_gradient_of_a_kernel() -> None:
    """The derivative of the sum of out * dy by each tap, taken by small steps."""
    x, w = floats(2, 4, 5, 5).astype("float64"), floats(6, 2, 3, 3, seed=1).astype("float64")
    out = lambda kernel: testing.conv2d_nchw_python(x, kernel, 2, 1, 2)
    dy = floats(*out(w).shape, seed=2).astype("float64")
    got = testing.conv2d_backward_weight_nchw_python(dy, x, (3, 3), 2, 1, 2)
    for at in ((0, 0, 0, 0), (3, 1, 2, 1), (5, 0, 1, 2)):
        step = np.zeros_like(w)
        step[at] = 1.0
        assert got[at] == pytest.approx((out(step) * dy).sum())
    last = testing.conv2d_backward_weight_python(
        np.moveaxis(dy, 1, -1), np.moveaxis(x, 1, -1), (3, 3), 2, 1, "NHWC", 2
    )
    close(last, got.transpose(0, 2, 3, 1))


def test_depthwise() -> None:
    x, w = floats(1, 4, 5, 6), floats(4, 2, 3, 3, seed=1)
    got = evaluate(lambda a, b: nn.depthwise_conv2d_nchw(a, b, 1, 1, 1), x, w)
    close(testing.depthwise_conv2d_python_nchw(x, w, 1, 1), got, 1e-4, 1e-4)
    last = testing.depthwise_conv2d_python_nhwc(turned(x), w.transpose(2, 3, 0, 1), 1, 1)
    close(last, turned(got), 1e-4, 1e-4)
    one = w[:, :1]
    blocked = x.reshape(1, 2, 2, 5, 6).transpose(0, 1, 3, 4, 2)
    kernel = one.reshape(2, 2, 1, 3, 3, 1).transpose(0, 2, 3, 4, 5, 1)
    got = testing.depthwise_conv2d_python_nchwc(blocked, kernel, 1, 1)
    wanted = testing.depthwise_conv2d_python_nchw(x, one, 1, 1)
    close(got.transpose(0, 1, 4, 2, 3).reshape(wanted.shape), wanted, 1e-4, 1e-4)


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize("counted", [False, True])
def test_pooling(kind: str, ceil: bool, counted: bool) -> None:
    x = floats(2, 3, 7, 8)
    args = ((3, 2), (2, 2), (1, 2))
    got = testing.poolnd_python(x, *args, (1, 0), (1, 1), kind, counted, ceil)
    op = lambda a: nn.pool2d(a, *args, (1, 0, 1, 1), kind, ceil, "NCHW", counted)
    close(got, evaluate(op, x), 1e-5, 1e-5)
    last = testing.poolnd_python(
        turned(x), *args, (1, 0), (1, 1), kind, counted, ceil, layout="NHWC"
    )
    close(last, turned(got))
    adaptive = evaluate(lambda a: nn.adaptive_pool(a, (3, 5), kind), x)
    close(testing.adaptive_pool(x, (3, 5), kind, "NCHW"), adaptive, 1e-5, 1e-5)
    close(testing.adaptive_pool(turned(x), (3, 5), kind, "NHWC"), turned(adaptive), 1e-5, 1e-5)


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_gradient_of_pooling(kind: str) -> None:
    x = floats(1, 2, 5, 6).astype("float64")
    pool = lambda a: testing.poolnd_python(
        a, (3, 2), (2, 2), (1, 1), (1, 0), (1, 0), kind, dtype="float64"
    )  # fmt: skip
    grad = floats(*pool(x).shape, seed=1).astype("float64")
    got = testing.pool_grad_nchw(x, grad, (3, 2), (2, 2), (1, 0, 1, 0), kind, False)
    for at in np.ndindex(1, 1, 5, 6):
        step = np.zeros_like(x)
        step[at] = 1e-6
        slope = ((pool(x + step) - pool(x)) * grad).sum() / 1e-6
        assert got[at] == pytest.approx(slope, abs=1e-4)


def test_normalisations() -> None:
    x, g, b = floats(2, 6, 4), floats(6, seed=1), floats(6, seed=2)
    own, shift = floats(4, seed=3), floats(4, seed=4)
    close(testing.layer_norm_python(x, own, shift, [2]),
          evaluate(lambda *t: nn.layer_norm(*t, [2]), x, own, shift), 1e-4, 1e-4)  # fmt: skip
    close(testing.rms_norm_python(x, own, [2]),
          evaluate(lambda *t: nn.rms_norm(*t, [2]), x, own), 1e-4, 1e-4)  # fmt: skip
    close(testing.group_norm_python(x, g, b, 3, 1, [2]),
          evaluate(lambda *t: nn.group_norm(*t, 3, 1, [2]), x, g, b), 1e-4, 1e-4)  # fmt: skip
    close(testing.instance_norm_python(x, g, b, [2]),
          evaluate(lambda *t: nn.instance_norm(*t, 1, [2]), x, g, b), 1e-4, 1e-4)  # fmt: skip
    for one, axis in ((testing.layer_norm_python(x, own, shift, -1), [2]),
                      (testing.layer_norm_python(x, own, shift, 2), (2,))):  # fmt: skip
        close(one, testing.layer_norm_python(x, own, shift, axis))
    close(testing.rms_norm_python(x, own, -1), testing.rms_norm_python(x, own, [2]))
    close(testing.instance_norm_python(x, g, b, 2), testing.instance_norm_python(x, g, b, (2,)))
    mean, var = floats(6, seed=5), rng(6).random(6).astype("float32") + 0.5
    for training in (False, True):
        got = testing.batch_norm(x, g, b, mean, var, 1, 1e-5, True, True, training, 0.1)
        wanted = evaluate(
            lambda *t, on=training: nn.batch_norm(*t, training=on), x, g, b, mean, var
        )
        for p, q in zip(got, wanted):
            close(p, q, 1e-4, 1e-4)
    picture = floats(1, 5, 3, 3)
    close(testing.lrn_python(picture, 3, 1, 2.0, 1e-4, 0.75),
          evaluate(lambda a: nn.lrn(a, 3), picture), 1e-4, 1e-5)  # fmt: skip
    length = np.sqrt((testing.l2_normalize_python(x, 1e-12, 1) ** 2).sum(1))
    close(length, np.ones((2, 4)))


def test_softmax_dense_and_attention() -> None:
    x = floats(3, 5)
    close(testing.softmax_python(x), evaluate(nn.softmax, x), 1e-5, 1e-6)
    close(testing.log_softmax_python(x), evaluate(nn.log_softmax, x), 1e-5, 1e-5)
    w, b = floats(4, 5, seed=1), floats(4, seed=2)
    close(testing.dense(x, w, b, True, True), np.maximum(x @ w.T + b, 0))
    p, q = floats(2, 3, 4), floats(2, 5, 4, seed=1)
    close(testing.batch_matmul(p, q), p @ q.swapaxes(1, 2), 1e-5, 1e-5)
    q, k, v = (floats(1, 3, 2, 4, seed=s) for s in range(3))
    got = testing.attention_python(q, k, v, None, 0.5, "TopLeft")
    close(got[0, 0], v[0, 0])  # the first query sees the first key only
    free = testing.attention_python(q, k, v, None, 0.5, "none")
    heads = [testing.softmax_python(0.5 * q[0, :, h] @ k[0, :, h].T) @ v[0, :, h] for h in (0, 1)]
    close(free[0], np.stack(heads, 1), 1e-5, 1e-5)


def test_pictures() -> None:
    x = floats(1, 2, 4, 5)
    for method in ("linear", "cubic"):
        for mode in ("half_pixel", "align_corners", "asymmetric"):
            got = testing.resize2d_python(x, (2, 1.4), "NCHW", method, mode)
            op = lambda a, m=method, c=mode: topi.image.resize2d(
                a, None, (8, 7), "NCHW", m, c, bicubic_alpha=-0.5
            )
            close(got, evaluate(op, x), 1e-4, 1e-4)
    near = testing.resize2d_python(x, (2, 2), method="nearest_neighbor",
                                   coordinate_transformation_mode="asymmetric")  # fmt: skip
    close(near, x.repeat(2, 2).repeat(2, 3))
    row = testing.resize1d_python(floats(1, 2, 4), (2,), method="linear")
    assert row.shape == (1, 2, 8)
    assert testing.resize3d_python(floats(1, 1, 2, 2, 2), (2, 2, 2), method="linear").shape[2:] == (
        4,
        4,
        4,
    )
    with pytest.raises(ValueError, match=r"resize method 'area'"):
        testing.resize2d_python(x, (2, 2), method="area")
    grid = rng(1).uniform(-1.4, 1.4, (1, 2, 3, 3)).astype("float32")
    for method in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            op = lambda a, g, m=method, p=padding: topi.image.grid_sample(a, g, m, padding_mode=p)
            got = testing.grid_sample_python(x, grid, method, padding_mode=padding)
            close(got, evaluate(op, x, grid), 1e-4, 1e-4)
    theta = floats(1, 2, 3)
    close(testing.affine_grid_python(theta, (3, 4)),
          evaluate(lambda t: topi.image.affine_grid(t, (3, 4)), theta), 1e-4, 1e-5)  # fmt: skip
    boxes = np.array([[0.1, 0.0, 0.8, 1.0], [-0.2, 0.3, 0.9, 0.6]], "float32")
    which = np.array([0, 0], "int32")
    op = lambda *t: topi.image.crop_and_resize(*t, (3, 4), extrapolation_value=5.0)
    got = testing.crop_and_resize_python(x, boxes, which, (3, 4), "NCHW", "bilinear", 5.0)
    close(got, evaluate(op, x, boxes, which), 1e-4, 1e-4)


def test_rearrangements() -> None:
    x = floats(2, 8, 4, 6)
    close(testing.space_to_depth_python(x, 2), evaluate(lambda a: nn.space_to_depth(a, 2), x))
    for mode in ("DCR", "CRD"):
        op = lambda a, m=mode: nn.depth_to_space(a, 2, mode=m)
        close(testing.depth_to_space_python(x, 2, mode), evaluate(op, x))
    y = floats(2, 3, 5, 2)
    there = testing.space_to_batch_nd_python(y, [2, 2], [1, 0], [0, 1])
    close(there, evaluate(lambda a: nn.space_to_batch_nd(a, [2, 2], [1, 0], [0, 1]), y))
    close(testing.batch_to_space_nd_python(there, [2, 2], [1, 0], [0, 1]), y)
    close(testing.dilate_python(y, (1, 2, 1, 3)), evaluate(lambda a: nn.dilate(a, (1, 2, 1, 3)), y))
    assert sorted(testing.reorg_python(x, 2).reshape(-1)) == sorted(x.reshape(-1))


def test_indices() -> None:
    x = floats(3, 4)
    close(testing.gather_python(x, 1, np.array([[0], [3], [2]])), [[x[0, 0]], [x[1, 3]], [x[2, 2]]])
    close(testing.gather_nd_python(x, np.array([[0, 2], [1, 3]])), [x[0, 1], x[2, 3]])
    close(testing.one_hot(np.array([1, 0]), 1, 0, 3, -1, "int32"), [[0, 1, 0], [1, 0, 0]])
    lengths = np.array([1, 3, 2, 0])
    op = lambda a, n: topi.sequence_mask(a, n, -1, 0)
    close(testing.sequence_mask(x, lengths, -1, 0), evaluate(op, x, lengths.astype("int32")))
    close(testing.slice_axis_python(x, 1, 1, 3), x[:, 1:3])
    close(testing.strided_slice_python(x, [0, -1], [3, 0], [1, -2]), x[0:3, -1:0:-2])
    close(testing.strided_slice_python(x, [1], [-1], None, "size", [1]), x[:, 1:])
    changed = testing.strided_set_python(x, np.zeros((2, 4)), [0], [3], [2])
    assert not changed[::2].any()
    rows = np.sort(floats(2, 5), 1)
    values = floats(2, 3, seed=1)
    got = evaluate(lambda a, b: topi.searchsorted(a, b, True), rows, values)
    close(testing.searchsorted_ref(rows, values, True, "int64"), got)
    m, band = floats(2, 3, 4), floats(2, 3, 3, seed=1)
    for align in ("RIGHT_LEFT", "LEFT_RIGHT"):
        op = lambda a, d, x=align: topi.matrix_set_diag(a, d, (-1, 1), x)
        close(testing.matrix_set_diag(m, band, (-1, 1), align), evaluate(op, m, band))


def test_losses() -> None:
    x, t, w = floats(3, 4, 2), rng().integers(0, 4, (3, 2)).astype("int32"), np.ones(4, "float32")
    for reduction in ("mean", "sum", "none"):
        op = lambda *a, r=reduction: nn.nll_loss(*a, r, 1)
        close(testing.nll_loss(x, t, w, reduction, 1), evaluate(op, x, t, w), 1e-5, 1e-5)


def test_moved_taps_and_correlation() -> None:
    x, w = floats(1, 2, 5, 5), floats(2, 2, 3, 3, seed=1)
    offset = floats(1, 18, 5, 5, seed=2)
    op = lambda *t: nn.deformable_conv2d_nchw(*t, 1, 1, 1, 1, 1, None)
    got = testing.deformable_conv2d_nchw_python(x, offset, w, 1, 1, 1, 1, 1)
    close(got, evaluate(op, x, offset, w), 1e-3, 1e-4)
    last = testing.deformable_conv2d_nhwc_python(
        turned(x), turned(offset), w.transpose(2, 3, 1, 0), 1, 1, 1, 1, 1
    )
    close(last, turned(got), 1e-5, 1e-5)
    y = floats(1, 2, 5, 5, seed=3)
    op = lambda a, b: nn.correlation_nchw(a, b, 1, 1, 1, 1, 1, True)
    close(
        testing.correlation_nchw_python(x, y, 1, 1, 1, 1, 1, True), evaluate(op, x, y), 1e-4, 1e-5
    )


def test_regions() -> None:
    x = floats(1, 2, 6, 6)
    whole = np.array([[0, 0, 0, 5, 5]], "float32")
    close(testing.roi_pool_nchw_python(x, whole, 1, 1.0)[0, :, 0, 0], x[0].max((1, 2)))
    points = np.array([[0, 1, 1, 3, 3]], "float32")
    got = testing.roi_align_nchw_python(x, points, (2, 2), 1.0, 1)
    close(got[0, :, 0, 0], x[0, :, 1:3, 1:3].mean((1, 2)), 1e-5, 1e-5)
    last = testing.roi_align_nhwc_python(turned(x), points, (2, 2), 1.0, 1)
    close(last, turned(got))
    with pytest.raises(ValueError, match=r"legal: avg, max"):
        testing.roi_align_nchw_python(x, points, 2, 1.0, 1, b"sum")


def test_lstm() -> None:
    x, wi, wh = floats(3, 2, 4), floats(12, 4, seed=1), floats(12, 3, seed=2)
    h, c = testing.lstm_python(x, wi, wh)
    sigmoid = lambda a: 1 / (1 + np.exp(-a))
    i, f, g, o = np.split(x[0] @ wi.T, 4, 1)
    cell = sigmoid(i) * np.tanh(g)
    close(c[0], cell, 1e-5, 1e-6)
    close(h[0], sigmoid(o) * np.tanh(cell), 1e-5, 1e-6)
    backward, _ = testing.lstm_python(x, wi, wh, reverse=True)
    close(backward, testing.lstm_python(x[::-1], wi, wh)[0])
    assert f.shape == (2, 3)
