"""Registration of users' data types."""

from __future__ import annotations

import pytest

import tvm
from tvm.support import dtype
from tvm.support.dtype import DataType
from tvm.target import datatype


@pytest.fixture(autouse=True)
def _types_of_this_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dtype, "_custom_codes", {})
    monkeypatch.setattr(datatype, "_LOWER", {})


def test_names_and_codes() -> None:
    datatype.register("mine_a", 170)
    assert datatype.get_type_code("mine_a") == 170
    assert datatype.get_type_name(170) == "mine_a"
    assert datatype.get_type_registered(170)
    assert not datatype.get_type_registered(171)
    assert DataType("custom[mine_a]16").type_code == 170


def test_what_cannot_be_registered() -> None:
    datatype.register("mine_b", 172)
    with pytest.raises(tvm.TVMError, match="codes from 129 on"):
        datatype.register("mine_c", 7)
    with pytest.raises(tvm.TVMError, match="code 172 belongs to 'mine_b'"):
        datatype.register("mine_c", 172)
    with pytest.raises(tvm.TVMError, match="none is registered"):
        datatype.get_type_name(255)
    with pytest.raises(tvm.TVMError, match="did you mean 'mine_b'"):
        datatype.get_type_code("mine_bb")


def test_rules_are_global_functions_too() -> None:
    datatype.register("mine_d", 173)
    rule = datatype.create_lower_func({16: "AddMine"})
    datatype.register_op(rule, "Add", "llvm", "mine_d")
    assert datatype.find_lower_func("llvm", "Add", "mine_d") is rule
    assert tvm.get_global_func("tvm.datatype.lower.llvm.Add.mine_d") is not None
    datatype.register_op(rule, "Cast", "llvm", "float", "mine_d")
    assert tvm.get_global_func("tvm.datatype.lower.llvm.Cast.mine_d.float") is not None
    with pytest.raises(tvm.TVMError, match="no dest_type_name"):
        datatype.register_op(rule, "Cast", "llvm", "float")
    with pytest.raises(tvm.TVMError, match="no intrinsic_name"):
        datatype.register_op(rule, "Call", "llvm", "mine_d")
    with pytest.raises(tvm.TVMError, match="lower Mul of data type mine_d"):
        datatype.find_lower_func("llvm", "Mul", "mine_d")
    with pytest.raises(tvm.TVMError, match="smallest value of data type mine_d"):
        datatype.find_min_func(DataType("custom[mine_d]16"))
