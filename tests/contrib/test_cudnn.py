"""Stages of cuDNN, with functions of Python in the place of the library's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import te
from tvm.contrib import cudnn
from tvm.error import ShapeError
from tvm.topi.testing import conv2d_nchw_python, log_softmax_python, softmax_python

from .stand_ins import registered, run

pytestmark = pytest.mark.cpu
RANDOM = np.random.default_rng(0)


@pytest.fixture
def library() -> Any:
    """The library's functions, in numpy."""
    prefix = "tvm.contrib.cudnn."

    def conv(mode: int, layout: int, algo: int, *more: Any) -> None:
        top, _, stride, _, _, _, x, w, y, _, groups = more
        y.copyfrom(conv2d_nchw_python(x.numpy(), w.numpy(), stride, top, groups))

    functions = {
        "softmax.forward": lambda x, y, axis: y.copyfrom(softmax_python(x.numpy(), axis)),
        "log_softmax.forward": lambda x, y, axis: y.copyfrom(log_softmax_python(x.numpy(), axis)),
        "conv2d.forward": conv,
        "exists": lambda: True,
    }
    with registered(prefix, **{name.replace(".", "__"): f for name, f in functions.items()}):
        yield


def test_the_library_is_asked_for() -> None:
    assert cudnn.exists() is False


def test_stages(library: None) -> None:
    assert cudnn.exists()
    x = te.placeholder((3, 5), name="x")
    given = RANDOM.random((3, 5), "float32")
    for stage, wanted in (
        (cudnn.softmax(x), softmax_python(given, -1)),
        (cudnn.log_softmax(x), log_softmax_python(given, -1)),
    ):
        np.testing.assert_allclose(run([x], stage, [given]), wanted, rtol=1e-5)
    x, w = te.placeholder((1, 4, 7, 7), name="x"), te.placeholder((6, 2, 3, 3), name="w")
    a, b = RANDOM.random((1, 4, 7, 7), "float32"), RANDOM.random((6, 2, 3, 3), "float32")
    y = cudnn.conv_forward(x, w, (1, 1), (2, 2), (1, 1), 1, cudnn.NCHW, -1, "float32", 2)
    np.testing.assert_allclose(
        run([x, w], y, [a, b]), conv2d_nchw_python(a, b, 2, 1, 2), rtol=1e-5
    )


def test_extents() -> None:
    there = dict(pad=(1, 0), stride=(2, 1), dilation=(1, 2))
    given = (4, 8, 9, 10), (6, 8, 3, 2)
    assert cudnn.conv_output_shape(0, **there, x_shape=given[0], w_shape=given[1]) == [4, 6, 5, 8]
    last = (4, 9, 10, 8), (6, 3, 2, 8)
    assert cudnn.conv_output_shape(1, **there, x_shape=last[0], w_shape=last[1]) == [4, 5, 8, 6]
    back = cudnn.conv_dgrad_shape(0, **there, dy_shape=(4, 6, 5, 8), w_shape=given[1])
    assert back == [4, 8, 9, 10]
    with pytest.raises(ShapeError, match="8 channels, a weight for 16"):
        cudnn.conv_output_shape(0, **there, x_shape=given[0], w_shape=given[1], groups=2)


def test_gradients_of_a_convolution() -> None:
    torch = pytest.importorskip("torch")
    place = ((1, 1), (2, 2), (1, 1))

    def data(*more: Any) -> None:
        (_, _, _, _, _, _, _, _, _, dy, w, dx, _, groups) = more
        back = torch.nn.grad.conv2d_input(
            dx.shape, torch.from_dlpack(w), torch.from_dlpack(dy), 2, 1, 1, groups
        )
        dx.copyfrom(back.numpy())

    def weight(*more: Any) -> None:
        (_, _, _, _, _, _, _, _, _, dy, x, dw, _, groups) = more
        back = torch.nn.grad.conv2d_weight(
            torch.from_dlpack(x), dw.shape, torch.from_dlpack(dy), 2, 1, 1, groups
        )
        dw.copyfrom(back.numpy())

    a = torch.rand(1, 4, 8, 8, requires_grad=True)
    b = torch.rand(6, 2, 3, 3, requires_grad=True)
    y = torch.conv2d(a, b, None, 2, 1, 1, 2)
    g = torch.rand_like(y)
    y.backward(g)
    dy = te.placeholder(tuple(g.shape), name="dy")
    x, w = te.placeholder(tuple(a.shape), name="x"), te.placeholder(tuple(b.shape), name="w")
    with registered("tvm.contrib.cudnn.conv2d.", backward_data=data, backward_filter=weight):
        dx = cudnn.conv_backward_data(dy, w, *place, 1, 0, "float32", 2, (1, 1))
        dw = cudnn.conv_backward_filter(dy, x, (3, 3), *place, 1, 0, "float32", 2)
        found = run([dy, w], dx, [g.numpy(), b.detach().numpy()])
        np.testing.assert_allclose(found, a.grad.numpy(), rtol=1e-4)
        found = run([dy, x], dw, [g.numpy(), a.detach().numpy()])
        np.testing.assert_allclose(found, b.grad.numpy(), rtol=1e-4)


def test_algorithms() -> None:
    names = "CUDNN_CONVOLUTION_{}_ALGO_{}"
    assert cudnn.algo_to_index("fwd", names.format("FWD", "IMPLICIT_PRECOMP_GEMM")) == 1
    assert cudnn.algo_to_index("bwd_filter", names.format("BWD_FILTER", "3")) == 3
    assert cudnn.algo_to_index("bwd_data", names.format("BWD_DATA", "WINOGRAD")) == 4
    with pytest.raises(ValueError, match="no such algorithm"):
        cudnn.algo_to_index("fwd", "WINOGRAD")
    asked: list[Any] = []

    def find(*more: Any) -> int:
        import ctypes

        layout, dims, *arrays, data, conv, groups, verbose = more
        counts = [dims] * 3 + [dims + 2] * 3
        for array, count in zip(arrays, counts):
            asked.append(ctypes.cast(array, ctypes.POINTER(ctypes.c_int32))[:count])
        asked.append((layout, data, conv, groups, verbose))
        return 5

    place = ((1, 1), (2, 2), (3, 3))
    shapes = ((1, 4, 8, 8), (6, 4, 3, 3), (1, 6, 4, 4))
    with registered(
        "tvm.contrib.cudnn.conv.",
        forward_find_algo=find, backward_data_find_algo=find, backward_filter_find_algo=find,
    ):  # fmt: skip
        for ask in (
            cudnn.conv_forward_find_algo, cudnn.conv_backward_data_find_algo,
            cudnn.conv_backward_filter_find_algo,
        ):  # fmt: skip
            asked.clear()
            assert ask(0, *place, *shapes, "float16", "float32", 2, False) == 5
            assert asked[:-1] == [list(part) for part in (*place, *shapes)]
            assert asked[-1] == (0, "float16", "float32", 2, False)
