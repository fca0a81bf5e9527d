"""The newer names stand for the same things."""

from __future__ import annotations

import pytest

import tvm
import tvm.tirx.analysis
import tvm.tirx.transform
from tvm import tir
from tvm.script import tir as T
from tvm.script import tirx

pytestmark = pytest.mark.pure


def test_doors() -> None:
    assert tvm.tirx.Var is tir.Var
    assert tvm.tirx.transform.Simplify is tir.transform.Simplify
    assert tvm.tirx.analysis.verify_well_formed is tir.analysis.verify_well_formed
    assert tirx.prim_func is T.prim_func
    assert "PrimFunc" in dir(tvm.tirx)
    with pytest.raises(AttributeError, match="no attribute 'Unheard'"):
        _ = tvm.tirx.Unheard
