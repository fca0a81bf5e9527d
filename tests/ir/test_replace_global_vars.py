"""Functions under other names, at their uses too."""

from __future__ import annotations

import pytest

import tvm
from tests.ir.test_structural import copy_func
from tvm import tir
from tvm.ir import GlobalVar

pytestmark = pytest.mark.pure


def caller(callee: GlobalVar) -> tir.PrimFunc:
    return tir.PrimFunc([], tir.Evaluate(tir.call_tir(callee)))


def test_definitions_uses_and_symbols() -> None:
    f = GlobalVar("f")
    mod = tvm.IRModule({f: copy_func().with_attr("global_symbol", "f"), "g": caller(f)})
    new = mod.replace_global_vars({"f": "h"})
    assert sorted(v.name_hint for v in new.functions) == ["g", "h"]
    assert new["h"].attrs["global_symbol"] == "h"
    assert new["g"].body.value.op is new.get_global_var("h")
    assert "f" in mod


def test_unknown_function() -> None:
    mod = tvm.IRModule({"f": copy_func()})
    with pytest.raises(ValueError, match="Cannot find global var 'x'"):
        mod.replace_global_vars({"x": "y"})
    with pytest.raises(tvm.TVMError, match="'q' is no function of the module"):
        mod.replace_global_vars({GlobalVar("q"): "y"})


def test_names_are_texts_or_variables() -> None:
    mod = tvm.IRModule({"main": tir.PrimFunc([], tir.Evaluate(0))})
    for bad in ({"main": 3}, {3: "main"}):
        with pytest.raises(TypeError, match="name is a int: 3; legal: GlobalVar"):
            mod.replace_global_vars(bad)
