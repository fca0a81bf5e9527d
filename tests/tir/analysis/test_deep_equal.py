"""expr_deep_equal."""

import pytest

from tvm.ir import Range, structural_equal
from tvm.tir import decl_buffer
from tvm.tir import expr as e
from tvm.tir.analysis import expr_deep_equal
from tvm.tir.analysis.deep_equal import region_deep_equal
from tvm.tir.stmt import BufferRegion

pytestmark = pytest.mark.pure


def test_variables_are_not_renamed() -> None:
    x, y = e.Var("x", "int32"), e.Var("y", "int32")
    assert expr_deep_equal(x + 1, x + 1)
    assert not expr_deep_equal(x + 1, y + 1)
    assert expr_deep_equal(3, e.IntImm("int32", 3))


def test_buffers_are_not_renamed() -> None:
    x = e.Var("x", "int32")
    a, b = (decl_buffer((8,), "int32", name) for name in "ab")
    load, other = e.BufferLoad(a, [x]), e.BufferLoad(b, [x])
    assert structural_equal(load, other)  # one free buffer stands for the other
    assert not expr_deep_equal(load + 1, other + 1)
    assert expr_deep_equal(load + 1, e.BufferLoad(a, [x]) + 1)
    row, same, elsewhere = (BufferRegion(n, [Range(x, x + 2)]) for n in (a, a, b))
    assert region_deep_equal(row, same)
    assert not region_deep_equal(row, elsewhere)
    assert not region_deep_equal(row, BufferRegion(a, [Range(x, x + 3)]))
