"""Stages of cuDNN, with functions of Python in the place of the library's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import te, tir
from tvm.contrib import cudnn
from tvm.error import ShapeError
from tvm.ffi.registry import remove_global_func
from tvm.topi.testing import conv2d_nchw_python, log_softmax_python, softmax_python

pytestmark = pytest.mark.cpu
RANDOM = np.random.default_rng(0)


def run(inputs: list[te.Tensor], out: te.Tensor, given: list[Any]) -> Any:
    kernel = tir.build(te.create_prim_func([*inputs, out]), "llvm")
    found = tvm.nd.empty([int(e) for e in out.shape], out.dtype)
    kernel(*[tvm.nd.array(g) for g in given], found)
    return found.numpy()


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
    for name, func in functions.items():
        tvm.register_func(prefix + name, func, override=True)
    yield
    for name in functions:
        remove_global_func(prefix + name)


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
