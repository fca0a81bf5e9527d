"""Odd cases of reductions and running sums."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import info, shape_of, var
from tvm import tir
from tvm.error import TVMError
from tvm.relax import op

pytestmark = pytest.mark.pure

N = tir.Var("n", "int64")


def test_shapes() -> None:
    assert shape_of(op.sum(var(N, 3, 4), axis=[1])) == (N, 4)
    assert shape_of(op.sum(var(N, 3, 4), axis=[-1, 0], keepdims=True)) == (1, 3, 1)
    assert shape_of(op.sum(var(N, 3))) == ()
    assert shape_of(op.sum(var(N, 3), keepdims=True)) == (1, 1)


def test_unknown_shapes() -> None:
    assert shape_of(op.sum(var(ndim=3))) == ()
    assert shape_of(op.sum(var(ndim=3), keepdims=True)) == (1, 1, 1)
    assert info(op.sum(var(ndim=3), axis=1)).ndim == 2
    unknown = var(ndim=-1)
    unknown.struct_info_ = type(unknown.struct_info)(None, "float32")
    assert info(op.sum(unknown, axis=1)).ndim == -1
    assert shape_of(op.sum(unknown)) == ()


def test_axis_given_twice() -> None:
    with pytest.raises(TVMError, match="axis names a dimension twice"):
        info(op.mean(var(2, 3), axis=[0, -2]))


def test_running_sums() -> None:
    flat = shape_of(op.cumsum(var(N, 3)))
    assert tir.interp.evaluate(flat[0], {N: 4}) == 12
    assert info(op.cumsum(var(2, dtype="int8"), 0, "int64")).dtype == "int64"
    with pytest.raises(TVMError, match="axis is out of range"):
        info(op.cumprod(var(2), 1))
