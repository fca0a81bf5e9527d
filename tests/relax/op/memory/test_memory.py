"""Storage and tensors in it."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import info, shape_of, var
from tvm import relax, tir
from tvm.error import TVMError
from tvm.ir import Op
from tvm.relax import op

pytestmark = pytest.mark.pure

N = tir.Var("n", "int64")


def test_tensor_in_storage() -> None:
    storage = op.memory.alloc_storage(relax.ShapeExpr([64]), 0, "global", "uint8")
    assert isinstance(info(storage), relax.ObjectStructInfo)
    kept = relax.Var("s", relax.ObjectStructInfo())
    call = op.memory.alloc_tensor(kept, 0, relax.ShapeExpr([N, 4]), "float32")
    assert shape_of(call) == (N, 4)
    assert info(call).dtype == "float32"


def test_ends_of_life_are_effects() -> None:
    for name in ("relax.memory.kill_storage", "relax.memory.kill_tensor"):
        assert Op.get(name).get_attr("FPurity") is False
    assert isinstance(info(op.memory.kill_tensor(var(2))), relax.TupleStructInfo)


def test_dtype_operand_is_checked() -> None:
    kept = relax.Var("s", relax.ObjectStructInfo())
    with pytest.raises(TVMError, match="the dtype is no data type"):
        info(op.memory.alloc_tensor(kept, 0, relax.ShapeExpr([4]), relax.StringImm("float32")))


def test_a_shape_in_a_variable_is_the_tensor_s() -> None:
    storage = relax.Var("storage", relax.ObjectStructInfo())
    for known in (relax.ShapeStructInfo([2, 3]), relax.ShapeStructInfo(ndim=2)):
        shape = relax.Var("s", known)
        assert info(op.memory.alloc_tensor(storage, 0, shape, "int8")).shape is shape
        assert info(op.builtin.alloc_tensor(shape, "int8", 0)).shape is shape
        # the virtual machine's own has what is known of the extents
        assert info(op.vm.alloc_tensor(storage, 0, shape, "int8")).values == known.values
