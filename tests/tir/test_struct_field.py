import numpy as np
import pytest

import tvm
from tvm.backend import find_backend
from tvm.backend.llvm.abi import layout_of
from tvm.ir.type import PrimType
from tvm.tir import (
    Cast,
    Evaluate,
    PrimFunc,
    SeqStmt,
    Var,
    ret,
    tvm_struct_get,
    tvm_struct_set,
)
from tvm.tir.struct_field import StructField, TypeIndex

pytestmark = pytest.mark.cpu


def test_the_backend_has_a_place_for_each_field():
    for pointers in ("e", "e-p:32:32"):  # of 64 bits, of 32
        assert set(layout_of(pointers).fields) == set(StructField) - {StructField.TENSOR_ADDR}


def test_the_numbers_are_tvms():
    assert [StructField.TENSOR_DATA, StructField.ANY_UNION_VALUE] == [1, 15]
    assert StructField.INT64_ELEMENT == 17


def test_type_indices_are_those_of_values():
    """A compiled function sees what kind of value Python passed."""
    handle = Var("h", "handle")
    args, num_args, result = Var("args", "handle"), Var("num_args", "int32"), Var("r", "handle")
    kind = tvm_struct_get(args, 0, int(StructField.ANY_TYPE_INDEX), "int32")
    stores = [
        Evaluate(tvm_struct_set(result, 0, int(field), value))
        for field, value in (
            (StructField.ANY_TYPE_INDEX, int(TypeIndex.INT)),
            (StructField.ANY_ZERO_PADDING, 0),
            (StructField.ANY_UNION_VALUE, Cast("int64", kind)),
        )
    ]
    attrs = {"calling_conv": 1, "global_symbol": "__tvm_ffi_kind"}
    func = PrimFunc([handle, args, num_args, result], SeqStmt([*stores, Evaluate(ret(0))]),
                    PrimType("int32"), attrs=attrs)  # fmt: skip
    kind_of = find_backend("llvm").build(tvm.IRModule({"kind": func}), tvm.target.Target("llvm"))
    values = {
        TypeIndex.NONE: None, TypeIndex.INT: 3, TypeIndex.BOOL: True, TypeIndex.FLOAT: 1.5,
        TypeIndex.TENSOR: tvm.runtime.tensor(np.zeros(3)),
    }  # fmt: skip
    assert {k: kind_of["kind"](v) for k, v in values.items()} == {k: int(k) for k in values}
