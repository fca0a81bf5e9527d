"""Primitives that change how one buffer is kept."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tir.schedule.cases import chain, check, open_schedule, outputs, refuses
from tvm.script import tir as T


def test_set_scope() -> None:
    func = chain()
    sch = open_schedule(func)
    sch.set_scope("B", 0, "shared")
    sch.set_scope("C", "C", "local")
    assert 'B_shared = T.alloc_buffer((16, 16), scope="shared")' in sch.mod.script()
    check(sch, func)


def test_set_scope_of_a_parameter() -> None:
    sch = open_schedule(chain())
    refuses(sch, "is a parameter of the function", "set_scope", sch.get_block("D"), 0, "local")
    refuses(sch, "is unknown", "set_scope", sch.get_block("B"), 0, "attic")


def test_unsafe_set_dtype() -> None:
    func = chain()
    sch = open_schedule(func)
    sch.unsafe_set_dtype("B", 0, "float16")
    assert 'B = T.alloc_buffer((16, 16), "float16")' in sch.mod.script()
    np.testing.assert_allclose(outputs(func, sch.mod), outputs(func, func), rtol=2e-2, atol=2e-2)


def test_storage_align() -> None:
    func = chain()
    sch = open_schedule(func)
    sch.storage_align("B", 0, axis=-2, factor=32, offset=8)
    sch.storage_align("B", 0, axis=0, factor=16, offset=1)
    assert sch.get(sch.get_block("B")).annotations["buffer_dim_align"] == ((0, 0, 16, 1),)
    check(sch, func)
    block = sch.get_block("B")
    refuses(sch, "the axis 2 is out of range", "storage_align", block, 0, 2, 16, 1)
    refuses(sch, "not positive", "storage_align", block, 0, 1, 0, 1)


def test_set_axis_separator() -> None:
    sch = open_schedule(chain())
    sch.set_axis_separator("B", ("write", 0), [1])
    assert "axis_separators=[1]" in sch.mod.script()
    refuses(
        sch, "do not fit buffer", "set_axis_separator", sch.get_block("B"), ("write", 0), [5]
    )


def test_reorder_block_iter_var() -> None:
    func = chain()
    sch = open_schedule(func)
    sch.reorder_block_iter_var("B", [1, 0])
    names = [iv.var.name for iv in sch.get(sch.get_block("B")).iter_vars]
    assert names == ["v_j", "v_i"]
    check(sch, func)
    refuses(sch, "is no order", "reorder_block_iter_var", sch.get_block("B"), [0, 0])


def test_add_unit_loop() -> None:
    func = chain()
    sch = open_schedule(func)
    block = sch.get_block("B")
    sch.add_unit_loop(block)
    sch.add_unit_loop(sch.get_loops(block)[0])
    assert [int(sch.get(loop).extent) for loop in sch.get_loops(block)] == [1, 16, 16, 1]
    check(sch, func)
    refuses(sch, "is the root", "add_unit_loop", sch.get_block("root"))


@T.prim_func
def through_views(P: T.Buffer((8, 8), "float32"), R: T.Buffer((8, 8), "float32")):
    Q = T.alloc_buffer((8, 8))
    for i, j in T.grid(8, 8):
        with T.block("q"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(P[vi, vj])
            T.writes(Q[vi, vj])
            S = T.match_buffer(Q[vi, vj], (), offset_factor=1)
            S[()] = P[vi, vj]
    for i, j in T.grid(8, 8):
        with T.block("r"):
            vi, vj = T.axis.remap("SS", [i, j])
            R[vi, vj] = Q[vi, vj]


def test_views_follow_their_buffer() -> None:
    sch = open_schedule(through_views)
    sch.set_scope("q", 0, "shared")
    view = 'S_shared = T.match_buffer(Q_shared[vi, vj], (), scope="shared", offset_factor=1)'
    assert view in sch.mod.script()
    check(sch, through_views)
    sch = open_schedule(through_views)
    sch.unsafe_set_dtype("q", 0, "float16")
    text = sch.mod.script()
    assert 'S = T.match_buffer(Q[vi, vj], (), "float16", offset_factor=1)' in text
    assert 'S[()] = T.Cast("float16", P[vi, vj])' in text
    sch = open_schedule(through_views)
    sch.set_axis_separator("q", ("write", 0), [1])
    assert "offset_factor=1, axis_separators=[0])" in sch.mod.script()
    with pytest.raises(AssertionError):
        sch.set_axis_separator("q", ("write", 3), [1])
