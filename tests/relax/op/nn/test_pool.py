"""Odd cases of pools."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.op.cases import info, shape_of, var
from tvm import relax, tir
from tvm.error import TVMError
from tvm.ir import Op
from tvm.relax import op

pytestmark = pytest.mark.pure

N = tir.Var("n", "int64")


def test_rounding_up() -> None:
    down = op.nn.max_pool2d(var(N, 4, 6, 7), (2, 2), (3, 3))
    up = op.nn.max_pool2d(var(N, 4, 6, 7), (2, 2), (3, 3), ceil_mode=True)
    assert shape_of(down) == (N, 4, 2, 2)
    assert shape_of(up) == (N, 4, 3, 3)


def test_padding_counts_or_not() -> None:
    x = np.ones((1, 1, 4), "float32")
    reference = Op.get("relax.nn.avg_pool1d").get_attr("FReference")
    counted = reference(op.nn.avg_pool1d(var(1, 1, 4), 2, 2, 1), [x])
    np.testing.assert_array_equal(counted.ravel(), [0.5, 1, 0.5])
    plain = op.nn.avg_pool1d(var(1, 1, 4), 2, 2, 1, count_include_pad=False)
    np.testing.assert_array_equal(reference(plain, [x]).ravel(), [1, 1, 1])


def test_changed_layout_is_kept_for_a_pass() -> None:
    call = op.nn.avg_pool2d(var(1, 4, 6, 6), out_layout="NHWC")
    bb = relax.BlockBuilder()
    assert call.op.get_attr("FLegalize")(bb, bb.normalize(call)).op.name == "relax.nn.avg_pool2d"


def test_adaptive_without_a_size_keeps_the_extents() -> None:
    assert shape_of(op.nn.adaptive_avg_pool2d(var(N, 4, 6, 7))) == (N, 4, 6, 7)
    assert shape_of(op.nn.adaptive_avg_pool2d(var(N, 6, 7, 4), 2, "NHWC")) == (N, 2, 2, 4)
    assert info(op.nn.adaptive_avg_pool1d(var(ndim=3))).ndim == 3


def test_adaptive_into_no_windows() -> None:
    assert shape_of(op.nn.adaptive_avg_pool2d(var(N, 4, 6, 7), (0, 2))) == (N, 4, 0, 2)
    words = r"output_size \[-1, 2\]\n.*\n  legal: numbers of at least 0"
    with pytest.raises(TVMError, match=words):
        info(op.nn.adaptive_avg_pool2d(var(N, 4, 6, 7), (-1, 2)))


def test_attributes_are_printed_in_order() -> None:
    x = var(1, 2, 8, 8)
    assert (
        "pool_size=[2, 2], strides=[1, 1], dilation=[1, 1], padding=[0, 0, 0, 0], ceil_mode=False"
        in str(op.nn.max_pool2d(x, (2, 2)))
    )
    assert 'pad_value=0.0, pad_mode="constant"' in str(op.nn.pad(x, [0, 0, 0, 0, 1, 1, 1, 1]))
