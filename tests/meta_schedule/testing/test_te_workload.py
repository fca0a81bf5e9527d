"""Workloads against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from tvm import te
from tvm.meta_schedule.testing import te_workload as w
from tvm.tir.interp import run

pytestmark = pytest.mark.pure


def computed(tensors: Any) -> list[Any]:
    """Random inputs, and the output that the interpreter computes of them."""
    func = te.create_prim_func(list(tensors))
    rng = np.random.default_rng(0)
    values = [rng.standard_normal([int(d) for d in t.shape]).astype(t.dtype) for t in tensors]
    run(func, *values)
    return values


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def windows(x: Any, axes: tuple[int, ...], k: int, stride: int = 1, padding: int = 0,
            dilation: int = 1) -> Any:  # fmt: skip
    """All windows of `k` taps along the axes; the taps are the last axes."""
    x = np.pad(x, [(padding, padding) if i in axes else (0, 0) for i in range(x.ndim)])
    reach = (k - 1) * dilation + 1
    seen = sliding_window_view(x, (reach,) * len(axes), axis=axes)
    at = [slice(None)] * seen.ndim
    for i, axis in enumerate(axes):
        at[axis] = slice(None, None, stride)
        at[x.ndim + i] = slice(None, None, dilation)
    return seen[tuple(at)]


def test_convolutions() -> None:
    x, k, y = computed(w.conv1d_nlc(1, 16, 4, 6, 3, 2, 1))
    close(y, np.einsum("nlcr,rco->nlo", windows(x, (1,), 3, 2, 1), k))
    x, k, y = computed(w.conv2d_nhwc(1, 9, 9, 3, 4, 3, 2, 1, 2))
    close(y, np.einsum("nhwcrs,rsco->nhwo", windows(x, (1, 2), 3, 2, 1, 2), k))
    x, k, y = computed(w.conv3d_ndhwc(1, 4, 5, 5, 2, 3, 3, 1, 1))
    close(y, np.einsum("ndhwcrst,rstco->ndhwo", windows(x, (1, 2, 3), 3, 1, 1), k))
    x, k, y = computed(w.depthwise_conv2d_nhwc(1, 6, 6, 4, 3, 1, 1))
    close(y, np.einsum("nhwcrs,rsc->nhwc", windows(x, (1, 2), 3, 1, 1), k[0]))
    x, k, y = computed(w.conv2d_capsule_nhwijc(1, 5, 5, 2, 3, 3, 2, 1, 2))
    close(y, np.einsum("nhwikcrs,rskjco->nhwijo", windows(x, (1, 2), 3, 2, 1), k))


def test_groups() -> None:
    x, k, y = computed(w.conv2d_nhwc(1, 5, 5, 4, 6, 3, 1, 1, 1, 2))
    seen = windows(x, (1, 2), 3, 1, 1)
    parts = [np.einsum("nhwcrs,rsco->nhwo", seen[..., g * 2 : g * 2 + 2, :, :],
                       k[..., g * 3 : g * 3 + 3]) for g in range(2)]  # fmt: skip
    close(y, np.concatenate(parts, axis=-1))


def test_transposed_convolution() -> None:
    x, k, y = computed(w.conv2d_transpose_nhwc(1, 4, 4, 3, 2, 4, 2, 1))
    full = np.zeros((1, 10, 10, 2))
    for i in range(4):
        for j in range(4):
            full[:, 2 * i : 2 * i + 4, 2 * j : 2 * j + 4] += np.einsum(
                "nc,rsco->nrso", x[:, i, j], k)  # fmt: skip
    close(y, full[:, 1:-1, 1:-1])


def test_products() -> None:
    for shapes in (w.matmul(4, 5, 6), w.batch_matmul_nkkm(2, 4, 5, 6)):
        a, b, c = computed(shapes)
        close(c, a @ b)
    a, b, c = computed(w.matmul_relu(4, 5, 6))
    close(c, np.maximum(a @ b, 0))
    q, v, c = computed(w.transpose_batch_matmul(1, 5, 2, 3))
    close(c, np.einsum("blhd,bmhd->bhlm", q, v))


def test_reductions() -> None:
    a, d = computed(w.norm_bmn(2, 4, 5))
    close(d, np.sqrt((a * a).sum((1, 2))))
    a, b = computed(w.softmax_mn(3, 7))
    e = np.exp(a - a.max(1, keepdims=True))
    close(b, e / e.sum(1, keepdims=True))
    x, y = computed(w.max_pool2d_nchw(1, 6, 6, 2, 1))
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=-np.inf)
    close(y, sliding_window_view(padded, (2, 2), axis=(2, 3)).max((-1, -2)))


def test_networks_of_a_layer() -> None:
    x, k, b, o, s, y = computed(w.conv2d_nhwc_bn_relu(1, 6, 6, 3, 4, 3, 2, 1))
    conv = np.einsum("nhwcrs,rsco->nhwo", windows(x, (1, 2), 3, 2, 1), k)
    close(y, np.maximum((conv + b) * s + o, 0))
    x, k, y = computed(w.conv2d_nchw(1, 6, 6, 3, 4, 3, 3, 1, 1))
    conv = np.einsum("nchwrs,ocrs->nohw", windows(x, (2, 3), 3, 1, 1), k)
    close(y, conv)
    x, k, b, s, o, y = computed(w.conv2d_nchw_bias_bn_relu(1, 6, 6, 3, 4, 3, 3, 1, 1))
    conv = np.einsum("nchwrs,ocrs->nohw", windows(x, (2, 3), 3, 1, 1), k)
    close(y, np.maximum((conv + b) * s + o, 0))


def test_winograd_takes_a_transformed_weight() -> None:
    _, weight, out = w.conv2d_winograd_nhwc(1, 14, 14, 8, 16, 6, 1, 1)
    assert [int(d) for d in weight.shape] == [6, 6, 16, 8]
    assert [int(d) for d in out.shape] == [1, 14, 14, 16]


def test_groups_show_in_the_index_even_if_there_is_one() -> None:
    text = te.create_prim_func(list(w.conv2d_nhwc(1, 224, 224, 3, 64, 7, 2, 3))).script()
    assert "v_h * 2 + v_rh, v_w * 2 + v_rw, v_co // 64 * 3 + v_rc" in text


@pytest.mark.parametrize("name", list(w.CONFIGS))
def test_by_name(name: str) -> None:
    func = w.create_te_workload(name, 0)
    assert func.attrs["global_symbol"] == "main"
    assert len(func.params) >= 2


def test_unknown_name() -> None:
    with pytest.raises(ValueError, match=r"no workload 'C4D'.*; legal: C1D, C2D"):
        w.create_te_workload("C4D", 0)


def test_sizes_by_name() -> None:
    assert {name: len(sizes) for name, (_, sizes) in w.CONFIGS.items()} == {
        **dict.fromkeys(w.CONFIGS, 4), "C2D_WIN_NHWC": 1,
    }  # fmt: skip
    for name, (_, sizes) in w.CONFIGS.items():
        for number in range(len(sizes)):
            func = w.create_te_workload(name, number)
            assert len(func.params) >= 2
    names = [buffer.name for buffer in w.create_te_workload("DEP", 1).buffer_map.values()]
    assert names == ["placeholder", "placeholder", "depth_conv2d_nhwc"]
