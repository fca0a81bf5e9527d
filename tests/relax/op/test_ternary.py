"""Odd cases of operators of three tensors."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import info, var
from tvm import tir
from tvm.error import TVMError
from tvm.relax import op

pytestmark = pytest.mark.pure


def test_one_shape_and_dtype_for_all() -> None:
    with pytest.raises(TVMError, match="the shapes differ"):
        info(op.ewise_fma(var(2), var(2), var(3)))
    with pytest.raises(TVMError, match="the numbers of dimensions differ"):
        info(op.ewise_fma(var(2), var(2, 2), var(2)))
    with pytest.raises(TVMError, match="data types of x1 and x3"):
        info(op.ewise_fma(var(2), var(2), var(2, dtype="int32")))
    assert info(op.ewise_fma(var(2), var(ndim=1), var(2))).values is None
    m, n = tir.Var("m", "int64"), tir.Var("n", "int64")
    with pytest.raises(TVMError, match="cannot be shown to be equal"):
        info(op.ewise_fma(var(m), var(m), var(n)))
    assert info(op.ewise_fma(var(m), var(n), var(ndim=1))).ndim == 1
