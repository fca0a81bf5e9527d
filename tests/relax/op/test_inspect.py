"""Facts about tensors."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.op.cases import info, var
from tvm import relax, tir
from tvm.error import TVMError
from tvm.ir import Op
from tvm.relax import op

pytestmark = pytest.mark.pure

N = tir.Var("n", "int64")


def test_what_is_known_is_a_number() -> None:
    x = var(N, 4, dtype="float16")
    assert info(op.inspect.tensor_shape_i(x, 0)).value is N
    assert info(op.inspect.tensor_dtype_bits(x)).value.value == 16
    assert info(op.inspect.tensor_dtype_code(x)).value.value == 2
    assert info(op.inspect.tensor_ndim(x)).value.value == 2
    assert info(op.inspect.tensor_stride_i(x, 0)).value is None
    assert info(op.inspect.tensor_ndim(var())).dtype == "int32"


def test_known_facts_are_legalised_to_numbers() -> None:
    call = op.inspect.tensor_shape_i(var(N, 4), 1)
    found = call.op.get_attr("FLegalize")(relax.BlockBuilder(), call)
    assert found.value.value == 4


def test_axis_out_of_range() -> None:
    with pytest.raises(TVMError, match="the axis is out of range"):
        info(op.inspect.tensor_shape_i(var(2, 3), 2))


def test_meaning() -> None:
    x = np.zeros((2, 3), "int16")

    def value(name: str, *args: object) -> object:
        op_ = Op.get(f"relax.inspect.tensor_{name}")
        return op_.get_attr("FReference")(relax.Call(op_, []), [x, *args])

    assert [value("shape_i", 1), value("stride_i", 0), value("ndim")] == [3, 3, 2]
    assert [value("dtype_bits"), value("dtype_lanes"), value("dtype_code")] == [16, 1, 0]
    assert [value("byte_offset"), value("elem_offset")] == [0, 0]


def test_views_of_scripts() -> None:
    x = var(2, 3)
    assert x.shape[relax.PrimValue(1)].args[1].value.value == 1
    assert [x.dtype.code.op.name, x.dtype.lanes.op.name] == [
        "relax.inspect.tensor_dtype_code", "relax.inspect.tensor_dtype_lanes",
    ]  # fmt: skip
