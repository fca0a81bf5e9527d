"""Stages of NNPACK, with functions of Python in the place of the library's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import te
from tvm.contrib import nnpack
from tvm.error import TVMError
from tvm.topi.testing import conv2d_nchw_python

from .stand_ins import registered, run

pytestmark = pytest.mark.cpu
RANDOM = np.random.default_rng(0)


def test_whether_it_is_there() -> None:
    assert not nnpack.is_available()
    with registered("tvm.contrib.nnpack.", _initialize=lambda: 0):
        assert nnpack.is_available()
    with registered("tvm.contrib.nnpack.", _initialize=lambda: 24):
        assert not nnpack.is_available()


def test_fully_connected() -> None:
    def product(v: Any, m: Any, out: Any, threads: int) -> None:
        assert threads == 2
        out.copyfrom(m.numpy() @ v.numpy())

    a, b = RANDOM.random(7, "float32"), RANDOM.random((5, 7), "float32")
    x, w = te.placeholder((7,), name="x"), te.placeholder((5, 7), name="w")
    with registered("tvm.contrib.nnpack.", fully_connected_inference=product):
        found = run([x, w], nnpack.fully_connected_inference(x, w, 2), [a, b])
    np.testing.assert_allclose(found, b @ a, rtol=1e-5)


@pytest.mark.parametrize("with_bias", [True, False])
def test_convolution(with_bias: bool) -> None:
    def conv(x: Any, w: Any, bias: Any, y: Any, *numbers: int) -> None:
        assert numbers == (1, 1, 1, 1, 2, 2, 1, nnpack.ConvolutionAlgorithm.AUTO)
        shift = bias.numpy()[:, None, None] if with_bias else bias
        y.copyfrom(conv2d_nchw_python(x.numpy(), w.numpy(), 2, 1) + shift)

    a, b = RANDOM.random((1, 3, 8, 6), "float32"), RANDOM.random((4, 3, 3, 3), "float32")
    c = RANDOM.random(4, "float32")
    x, w = te.placeholder(a.shape, name="x"), te.placeholder(b.shape, name="w")
    bias = te.placeholder((4,), name="bias")
    with registered("tvm.contrib.nnpack.", convolution_inference=conv):
        stage = nnpack.convolution_inference(
            x, w, bias if with_bias else None, [1, 1, 1, 1], [2, 2]
        )
        inputs, given = ([x, w, bias], [a, b, c]) if with_bias else ([x, w], [a, b])
        found = run(inputs, stage, given)
    wanted = conv2d_nchw_python(a, b, 2, 1) + (c[:, None, None] if with_bias else 0)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_weights_transformed_before() -> None:
    x, w = te.placeholder((1, 3, 8, 6), name="x"), te.placeholder((4, 3, 3, 3), name="w")
    algo = nnpack.ConvolutionAlgorithm.WT_8x8
    turned = nnpack.convolution_inference_weight_transform(w, algorithm=algo)
    assert [int(e) for e in turned.shape] == [4, 3, 8, 8]
    stage = nnpack.convolution_inference_without_weight_transform(
        x, turned, None, [1, 1, 0, 0], [1, 1], algorithm=algo
    )
    assert [int(e) for e in stage.shape] == [1, 4, 8, 4]
    text = te.create_prim_func([x, w, stage]).script()
    assert '"tvm.contrib.nnpack.convolution_inference_without_weight_transform"' in text
    with pytest.raises(TVMError, match="algorithm"):
        nnpack.convolution_inference_weight_transform(w)
    with pytest.raises(TVMError, match="top, bottom, left, right"):
        nnpack.convolution_inference(x, w, None, [1, 1], [1, 1])
