"""What rules share: axes, broadcasting over several operands, dtypes."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import info, shape_of, var
from tvm import tir
from tvm.error import ShapeError
from tvm.relax import op

pytestmark = pytest.mark.pure

N, M = tir.Var("n", "int64"), tir.Var("m", "int64")


@pytest.mark.parametrize("axis", [2, -3])
def test_axis_out_of_range(axis: int) -> None:
    with pytest.raises(ShapeError, match=r"relax\.nn\.softmax: axis is out of range") as err:
        info(op.nn.softmax(var(2, 3), axis))
    assert f"found: axis={axis}" in str(err.value)
    assert "legal: -2 <= axis < 2" in str(err.value)


def test_scalar_has_no_axis() -> None:
    with pytest.raises(ShapeError, match="a tensor without dimensions has no axis"):
        info(op.sum(var(), axis=0))


def test_three_operands_broadcast() -> None:
    cond = var(N, 1, dtype="bool")
    assert shape_of(op.where(cond, var(1, 4), var(4))) == (N, 4)
    found = info(op.where(cond, var(M, 4), var(4)))
    assert (found.values, found.ndim) == (None, 2)


def test_unknown_dtype_stays_unknown() -> None:
    unknown = var(2, dtype="")
    assert info(op.add(unknown, var(2))).dtype == "void"
