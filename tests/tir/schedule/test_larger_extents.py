"""Copies between a buffer and a larger one."""

from __future__ import annotations

import numpy as np
import pytest

from tvm import te, tir
from tvm.tir.interp import run
from tvm.tir.schedule import Schedule
from tvm.tir.schedule.larger_extents import crop_nest, grid_axes, pad_nest, require_plain_loops
from tvm.tir.stmt import SeqStmt


def test_there_and_back() -> None:
    small, large = tir.decl_buffer((3, 4), name="A"), tir.decl_buffer((5, 4), name="B")
    again = tir.decl_buffer((3, 4), name="C")
    body = SeqStmt([pad_nest(small, large), crop_nest(large, again)])
    root = tir.BlockRealize([], tir.const(True, "bool"), tir.Block([], [], [], "root", body))
    handles = [tir.Var(name, "handle") for name in "abc"]
    func = tir.PrimFunc(handles, root, None, dict(zip(handles, (small, large, again))))
    a = np.arange(12, dtype="float32").reshape(3, 4)
    b, c = np.full((5, 4), 9, "float32"), np.full((3, 4), 9, "float32")
    run(func, a, b, c)
    np.testing.assert_array_equal(b, np.pad(a, ((0, 2), (0, 0))))
    np.testing.assert_array_equal(c, a)


def test_axes_are_loops_of_their_own() -> None:
    iter_vars, values, loops = grid_axes([tir.const(3, "int64"), tir.SizeVar("n", "int32")])
    assert [str(iv.var.dtype) for iv in iter_vars] == ["int64", "int32"]
    assert values == [var for var, _ in loops]


def test_a_block_that_shares_its_loops_is_refused() -> None:
    a = te.placeholder((4, 4), name="A")
    b = te.compute((4, 4), lambda i, j: a[i, j] + 1.0, name="B")
    sch = Schedule(te.create_prim_func([a, b]))
    block = sch.get_block("B")
    place = sch.get_sref(block)
    names = {sch.get(loop).loop_var: tir.const(8, "int32") for loop in sch.get_loops(block)}
    require_plain_loops(sch.state, place, names)
    sch.split(sch.get_loops(block)[0], [2, 2])
    with pytest.raises(Exception, match="not bound to one loop each"):
        require_plain_loops(sch.state, place, names)
