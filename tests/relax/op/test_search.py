"""Odd cases of choosing."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import info, shape_of, var
from tvm import tir
from tvm.error import TVMError
from tvm.relax import op

pytestmark = pytest.mark.pure

N = tir.Var("n", "int64")


def test_condition_is_bool() -> None:
    for dtype in ("float32", ""):  # known to be
        with pytest.raises(TVMError, match="condition must be bool"):
            info(op.where(var(2, dtype=dtype), var(2), var(2)))
    with pytest.raises(TVMError, match="the shapes of"):
        info(op.where(var(2, dtype="bool"), var(3), var(3)))


def test_indices_are_int64() -> None:
    found = info(op.argmax(var(N, 4), axis=0, keepdims=True))
    assert found.dtype == "int64"
    assert shape_of(found) == (1, 4)
    with pytest.raises(TVMError, match="axis is out of range"):
        info(op.argmin(var(2), axis=1))


def test_buckets() -> None:
    assert info(op.bucketize(var(N, 4), var(3), out_int32=True)).dtype == "int32"
    with pytest.raises(TVMError, match="boundaries must have 1 dimensions"):
        info(op.bucketize(var(2), var(3, 3)))
