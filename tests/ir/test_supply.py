"""Fresh names and global variables."""

from __future__ import annotations

import pytest

import tvm
from tests.ir.test_structural import copy_func
from tvm.ir import GlobalVar, GlobalVarSupply, NameSupply

pytestmark = pytest.mark.pure


def test_names() -> None:
    names = NameSupply("p")
    assert names.fresh_name("x") == "p_x"
    assert names.fresh_name("x") == "p_x_1"
    assert names.fresh_name("y", add_prefix=False) == "y"
    assert names.fresh_name("y", add_prefix=False, add_underscore=False) == "y1"
    names.reserve_name("z")
    assert names.contains_name("z")
    assert names.fresh_name("a.b/c", add_prefix=False) == "a_b_c"


def test_global_variables() -> None:
    mod = tvm.IRModule({"f": copy_func()})
    supply = GlobalVarSupply(mod)
    assert supply.fresh_global("f").name_hint == "f_1"
    assert supply.unique_global_for("f") is mod.get_global_var("f")
    assert supply.unique_global_for("g") is supply.unique_global_for("g")
    with pytest.raises(tvm.TVMError, match="'f' is reserved already"):
        supply.reserve_global(GlobalVar("f"))
    supply.reserve_global(GlobalVar("f"), allow_conflict=True)
