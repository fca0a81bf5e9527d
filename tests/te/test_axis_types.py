"""Types of the axes of stages whose extents are wide."""

from __future__ import annotations

import pytest

from tvm import te, tir, topi

pytestmark = pytest.mark.pure


def test_wide_extents_beside_narrow_ones() -> None:
    m = tir.Var("m", "int64")
    a = te.placeholder((m, 4), name="A")
    func = te.create_prim_func([a, topi.abs(a)])
    outer = func.body.block.body
    assert isinstance(outer, tir.For)
    assert [loop.min.dtype for loop in (outer, outer.body)] == ["int64", "int32"]
    axes = outer.body.body.block.iter_vars
    assert [axis.var.dtype for axis in axes] == ["int64", "int32"]
    assert [axis.dom.min.dtype for axis in axes] == ["int32", "int32"]  # as the stage says it
    func = te.create_prim_func([a, topi.take(a, tir.const(1, "int32"), 1)])  # numbered axes
    (axis,) = func.body.block.body.body.block.iter_vars
    assert axis.dom.min.dtype == "int64"
    wide = te.create_prim_func([a, topi.abs(a)], index_dtype_override="int64")
    axes = wide.body.block.body.body.body.block.iter_vars
    assert {axis.dom.min.dtype for axis in axes} == {"int64"}
