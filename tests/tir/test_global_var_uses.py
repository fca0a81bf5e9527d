"""Calls between functions of a module."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.ir import GlobalVar
from tvm.tir.global_var_uses import called_functions, rename_calls

pytestmark = pytest.mark.pure


def test_found_and_renamed() -> None:
    f, g = GlobalVar("f"), GlobalVar("g")
    calls = [tir.Evaluate(tir.call_tir(v)) for v in (f, g, f)]
    func = tir.PrimFunc([], tir.SeqStmt(calls))
    assert called_functions(func) == [f, g]
    h = GlobalVar("h")
    assert called_functions(rename_calls(func, {f: h})) == [h, g]
    assert rename_calls(func, {h: f}) is func
