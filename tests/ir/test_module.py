"""Modules: reading, editing, names."""

from __future__ import annotations

import pytest

import tvm
from tests.ir.test_structural import copy_func
from tvm.ir import DummyGlobalInfo, GlobalVar

pytestmark = pytest.mark.pure


def test_reading() -> None:
    f = copy_func()
    mod = tvm.IRModule({"b": f, "a": f}, attrs={"k": 1})
    assert mod["a"] is f
    assert mod[mod.get_global_var("b")] is f
    assert "a" in mod
    assert GlobalVar("a") not in mod
    assert mod[GlobalVar("a")] is f  # found by its name
    assert [v.name_hint for v in mod.get_global_vars()] == ["a", "b"]
    assert [v.name_hint for v, _ in mod.functions_items()] == ["a", "b"]
    assert len(mod) == 2
    assert mod.get_attr("k") == 1
    assert set(mod.global_var_map_) == {"a", "b"}
    with pytest.raises(ValueError, match=r"Cannot find global var 'c' .*candidates are: \['a'"):
        mod["c"]


def test_editing_leaves_old_tables_alone() -> None:
    mod = tvm.IRModule({"a": copy_func()})
    before, clone = mod.functions, mod.clone()
    mod["b"] = copy_func()
    mod["a"] = copy_func(3.0)
    assert len(before) == len(clone) == 1
    var = mod.get_global_var("a")
    mod.update(tvm.IRModule({"c": copy_func()}))
    assert mod.get_global_var("a") is var
    del mod["c"]
    assert "c" not in mod
    replacement = GlobalVar("a")
    mod.update_func(replacement, copy_func())
    assert mod.get_global_var("a") is replacement


def test_attributes_and_infos() -> None:
    mod = tvm.IRModule().with_attr("a", 1).with_attrs({"b": 2})
    assert dict(mod.attrs.items()) == {"a": 1, "b": 2}
    assert mod.without_attr("a").get_attr("a") is None
    mod.update_global_info("dummy", [DummyGlobalInfo()])
    assert len(mod.global_infos["dummy"]) == 1


def test_from_expr() -> None:
    assert "main" in tvm.IRModule.from_expr(copy_func())
    assert "f" in tvm.IRModule.from_expr(copy_func().with_attr("global_symbol", "f"))
    with pytest.raises(TypeError, match="takes a function, found Var"):
        tvm.IRModule.from_expr(tvm.tir.Var("x", "int32"))


def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match="function 'f' is a int"):
        tvm.IRModule({"f": 3})
    with pytest.raises(TypeError, match="a function's key is a str or a GlobalVar, found int"):
        tvm.IRModule({3: copy_func()})
    with pytest.raises(tvm.TVMError, match="two functions are called 'f'"):
        tvm.IRModule({GlobalVar("f"): copy_func(), GlobalVar("f"): copy_func()})


def test_with_functions_keeps_the_object() -> None:
    mod = tvm.IRModule({"f": copy_func()})
    assert mod.with_functions(dict(mod.functions)) is mod


def test_what_is_no_function_is_refused_at_once() -> None:
    mod = tvm.IRModule()
    with pytest.raises(TypeError, match="function 'main' is a int"):
        mod["main"] = 3  # type: ignore[assignment]
    with pytest.raises(TypeError, match="the functions are a int"):
        tvm.IRModule(3)  # type: ignore[arg-type]
    assert len(mod) == 0
