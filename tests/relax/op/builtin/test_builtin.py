"""Operators that the compiler itself puts in."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import info, shape_of, var
from tvm import relax
from tvm.relax import op

pytestmark = pytest.mark.pure


def test_tensor() -> None:
    call = op.builtin.alloc_tensor(relax.ShapeExpr([2, 3]), "int8", 0)
    assert shape_of(call) == (2, 3)
    assert info(call).dtype == "int8"
    unknown = relax.Var("s", relax.ShapeStructInfo(ndim=2))
    assert info(op.builtin.alloc_tensor(unknown, "int8", 0)).ndim == 2


def test_stop_is_the_value_itself() -> None:
    x = var(2)
    call = op.builtin.stop_lift_params(x)
    assert info(call) is x.struct_info
    assert call.op.get_attr("FLegalize")(relax.BlockBuilder(), call) is x
