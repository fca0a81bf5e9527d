"""Odd cases of casts."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import info, var
from tvm import relax
from tvm.relax import op

pytestmark = pytest.mark.pure


def test_shape_stays() -> None:
    found = info(op.astype(var(ndim=2), "float16"))
    assert (found.ndim, found.dtype) == (2, "float16")


def test_numbers_are_cast_at_once_and_arrays_by_a_kernel() -> None:
    def legal(call: relax.Call) -> relax.Expr:
        return call.op.get_attr("FLegalize")(relax.BlockBuilder(), call)

    found = legal(op.astype(relax.const(-1.7), "int32"))
    assert isinstance(found, relax.Constant)
    assert found.data.numpy() == -1
    assert isinstance(legal(op.astype(relax.const([1.7, -1.7]), "int32")), relax.Call)
    wrapped = legal(op.wrap_param(relax.const([1.5]), "float16"))
    assert isinstance(wrapped, relax.Constant)
