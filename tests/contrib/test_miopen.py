"""Stages of MIOpen, with functions of Python in the place of the library's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import te
from tvm.contrib import miopen
from tvm.error import TVMError
from tvm.topi.testing import conv2d_nchw_python, log_softmax_python, softmax_python

from .stand_ins import registered, run

pytestmark = pytest.mark.cpu
RANDOM = np.random.default_rng(0)


def test_softmax() -> None:
    x, given = te.placeholder((3, 5), name="x"), RANDOM.random((3, 5), "float32")
    with registered(
        "tvm.contrib.miopen.",
        softmax__forward=lambda x, y, axis: y.copyfrom(softmax_python(x.numpy(), axis)),
        log_softmax__forward=lambda x, y, axis: y.copyfrom(log_softmax_python(x.numpy(), axis)),
    ):
        found = run([x], miopen.softmax(x), [given])
        np.testing.assert_allclose(found, softmax_python(given, -1), rtol=1e-5)
        found = run([x], miopen.log_softmax(x, 0), [given])
        np.testing.assert_allclose(found, log_softmax_python(given, 0), rtol=1e-5)


def test_convolution() -> None:
    asked: list[Any] = []

    def setup(*numbers: Any) -> int:
        asked.extend(numbers[:-1])
        return 7

    def forward(*more: Any) -> None:
        _, _, top, _, stride, _, _, _, algo, x, w, y = more
        assert algo == 7
        y.copyfrom(conv2d_nchw_python(x.numpy(), w.numpy(), stride, top, 2))

    x, w = te.placeholder((1, 4, 7, 7), name="x"), te.placeholder((6, 2, 3, 3), name="w")
    a, b = RANDOM.random((1, 4, 7, 7), "float32"), RANDOM.random((6, 2, 3, 3), "float32")
    with registered("tvm.contrib.miopen.conv2d.", setup=setup, forward=forward):
        y = miopen.conv2d_forward(x, w, 2, 2, 1, 1, group_count=2)
        found = run([x, w], y, [a, b])
    assert asked == [0, 1, 1, 1, 2, 2, 1, 1, 1, 4, 7, 7, 6, 2, 3, 3, 2]
    np.testing.assert_allclose(found, conv2d_nchw_python(a, b, 2, 1, 2), rtol=1e-5)


def test_the_library_chooses_the_extents_of_transposed_convolutions() -> None:
    import ctypes

    def setup(*numbers: Any) -> int:
        shape = ctypes.cast(numbers[-1], ctypes.POINTER(ctypes.c_int32))
        shape[0], shape[1], shape[2], shape[3] = 1, 3, 9, 9
        return 0

    x, w = te.placeholder((1, 4, 7, 7), name="x"), te.placeholder((4, 4, 3, 3), name="w")
    with registered("tvm.contrib.miopen.conv2d.", setup=setup):
        y = miopen.conv2d_forward(x, w, conv_mode=1)
    assert [int(extent) for extent in y.shape] == [1, 3, 9, 9]


def test_without_the_library() -> None:
    x, w = te.placeholder((1, 4, 7, 7), name="x"), te.placeholder((6, 4, 3, 3), name="w")
    with pytest.raises(TVMError, match=r"no function 'tvm.contrib.miopen.conv2d.setup'"):
        miopen.conv2d_forward(x, w)
