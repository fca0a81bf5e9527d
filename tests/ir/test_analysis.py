"""Who calls whom."""

from __future__ import annotations

import pytest

import tvm
from tests.ir.test_replace_global_vars import caller
from tests.ir.test_structural import copy_func
from tvm.ir import GlobalVar
from tvm.ir.analysis import collect_call_map

pytestmark = pytest.mark.pure


def test_call_map() -> None:
    f, g = GlobalVar("f"), GlobalVar("g")
    mod = tvm.IRModule({f: copy_func(), g: caller(f), "h": caller(GlobalVar("elsewhere"))})
    found = collect_call_map(mod)
    assert found[g] == [f]
    assert found[f] == []
    assert found[mod.get_global_var("h")] == []
