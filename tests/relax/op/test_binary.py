"""Odd cases of broadcasting operators."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import info, shape_of, var
from tvm import relax, tir
from tvm.error import DTypeError, ShapeError, TVMError
from tvm.ir import VDevice
from tvm.relax import op

pytestmark = pytest.mark.pure

N, M = tir.Var("n", "int64"), tir.Var("m", "int64")


def test_symbols_that_may_differ_leave_the_shape_open() -> None:
    found = info(op.add(var(N, 4), var(M, 4)))
    assert found.values is None
    assert found.ndim == 2
    assert shape_of(op.add(var(N, 1), var(N * 2 - N, 4))) == (N, 4)


def test_certain_mismatch_is_refused_even_beside_open_extents() -> None:
    with pytest.raises(ShapeError, match="not broadcastable") as err:
        info(op.add(var(N, 4), var(M, 3)))
    assert "x1 (n, 4), x2 (m, 3); 4 is not 3" in str(err.value)


def test_dtypes_must_agree() -> None:
    with pytest.raises(DTypeError, match=r"relax\.multiply: data types of x1 and x2 must be equal"):
        info(op.multiply(var(2), var(2, dtype="int32")))


def test_comparison_gives_bool() -> None:
    assert info(op.less(var(N), var(N))).dtype == "bool"


def test_shape_variable_goes_through() -> None:
    shape = relax.Var("s", relax.ShapeStructInfo(ndim=2))
    x = relax.Var("x", relax.TensorStructInfo(shape, "float32"))
    assert info(op.add(x, x)).shape is shape


def test_two_numbers_give_a_number() -> None:
    one = relax.PrimValue(tir.const(1, "int64"))
    assert isinstance(info(op.add(one, one)), relax.PrimStructInfo)


def test_devices_must_agree() -> None:
    a, b = VDevice("llvm", 0), VDevice("cuda", 0)
    x = relax.Var("x", relax.TensorStructInfo((2,), "float32", a))
    y = relax.Var("y", relax.TensorStructInfo((2,), "float32", b))
    assert info(op.add(x, var(2))).vdevice is a
    with pytest.raises(TVMError, match="on different virtual devices"):
        info(op.add(x, y))


@pytest.mark.parametrize("name", ["equal", "not_equal", "less", "less_equal", "greater"])
def test_comparisons_take_different_dtypes(name: str) -> None:
    compare = getattr(op, name)
    assert info(compare(var(4, dtype="float16"), var(4, dtype="int8"))).dtype == "bool"
    assert info(compare(var(4, dtype="bool"), var(4))).dtype == "bool"


@pytest.mark.parametrize("name", ["add", "multiply", "floor_divide", "power", "maximum", "less"])
def test_an_operand_that_is_no_tensor_is_a_type_error(name: str) -> None:
    shape = relax.Var("s", relax.ShapeStructInfo([4]))
    func = relax.Var("f", relax.FuncStructInfo([], relax.ObjectStructInfo()))
    for operand in (shape, func):
        with pytest.raises(TypeError, match="x1 must be a tensor or a number"):
            info(getattr(op, name)(operand, var(4)))
