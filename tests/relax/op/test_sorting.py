"""Odd cases of sorting."""

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


def test_struct_info() -> None:
    assert info(op.argsort(var(N, 4), dtype="int64")).dtype == "int64"
    both = info(op.topk(var(N, 4), k=2))
    assert isinstance(both, relax.TupleStructInfo)
    assert shape_of(both.fields[0]) == (N, 2)
    assert both.fields[1].dtype == "int32"
    assert shape_of(op.topk(var(N, 4), k=0, ret_type="values")) == (N, 4)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="legal: both, values, indices"):
        op.topk(var(4), ret_type="all")
    with pytest.raises(TVMError, match="k exceeds the extent of the axis"):
        info(op.topk(var(4), k=5))
    with pytest.raises(TVMError, match="axis is out of range"):
        info(op.sort(var(4), 1))


def test_equal_elements_keep_their_order() -> None:
    x = np.float32([2, 1, 2, 1])
    reference = Op.get("relax.argsort").get_attr("FReference")
    assert reference(op.argsort(var(4)), [x]).tolist() == [1, 3, 0, 2]
    assert reference(op.argsort(var(4), descending=True), [x]).tolist() == [0, 2, 1, 3]
