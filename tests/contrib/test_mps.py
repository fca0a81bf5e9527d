"""Stages of Metal Performance Shaders, with functions of Python in the place of the library's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import te
from tvm.contrib import mps
from tvm.error import TVMError
from tvm.topi.testing import conv2d_nhwc_python

from .stand_ins import registered, run

pytestmark = pytest.mark.cpu
RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize(("transa", "transb"), [(False, False), (True, False), (True, True)])
def test_matmul(transa: bool, transb: bool) -> None:
    def product(a: Any, b: Any, c: Any, left: bool, right: bool) -> None:
        x, y = a.numpy(), b.numpy()
        c.copyfrom((x.T if left else x) @ (y.T if right else y))

    a = RANDOM.random((7, 5) if transa else (5, 7), "float32")
    b = RANDOM.random((3, 7) if transb else (7, 3), "float32")
    x, y = te.placeholder(a.shape, name="x"), te.placeholder(b.shape, name="y")
    with registered("tvm.contrib.mps.", matmul=product):
        found = run([x, y], mps.matmul(x, y, transa, transb), [a, b])
    wanted = (a.T if transa else a) @ (b.T if transb else b)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_conv2d() -> None:
    def conv(x: Any, w: Any, y: Any, padding: int, stride: int) -> None:
        assert padding == 0
        weight = w.numpy().transpose(1, 2, 3, 0)
        y.copyfrom(conv2d_nhwc_python(x.numpy(), weight, stride, "SAME"))

    a, b = RANDOM.random((2, 8, 8, 3), "float32"), RANDOM.random((4, 3, 3, 3), "float32")
    x, w = te.placeholder(a.shape, name="x"), te.placeholder(b.shape, name="w")
    with registered("tvm.contrib.mps.", conv2d=conv):
        found = run([x, w], mps.conv2d(x, w), [a, b])
    wanted = conv2d_nhwc_python(a, b.transpose(1, 2, 3, 0), 1, "SAME")
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert [int(e) for e in mps.conv2d(x, w, "VALID", 2).shape] == [2, 4, 4, 4]
    with pytest.raises(TVMError, match="legal: SAME, VALID"):
        mps.conv2d(x, w, "FULL")
