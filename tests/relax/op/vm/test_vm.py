"""Operators of the virtual machine."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import info, shape_of, var
from tvm import relax
from tvm.relax import op

pytestmark = pytest.mark.pure


def test_struct_infos() -> None:
    storage = relax.Var("s", relax.ObjectStructInfo())
    shape = relax.ShapeExpr([2, 3])
    assert isinstance(info(op.vm.alloc_storage(shape, 0, "uint8")), relax.ObjectStructInfo)
    assert shape_of(op.vm.alloc_tensor(storage, 0, shape, "float16")) == (2, 3)
    assert isinstance(info(op.vm.kill_object(storage)), relax.TupleStructInfo)
    dyn = op.vm.call_tir_dyn(relax.GlobalVar("f"), [var(2), shape])
    assert isinstance(info(dyn), relax.TupleStructInfo)


def test_defaults() -> None:
    call = op.vm.alloc_storage(relax.ShapeExpr([2]), 0, "uint8")
    assert call.args[3].value == "global"
