from __future__ import annotations

import numpy as np
import pytest

from tests.tir.schedule.cases import (
    chain,
    check,
    elementwise,
    open_schedule,
    refuses,
    row_sum,
)
from tvm import te, tir
from tvm.script import tir as T
from tvm.tir.interp import run
from tvm.tir.schedule import ScheduleError


def test_tiles() -> None:
    func = chain()
    sch = open_schedule(func)
    sch.transform_layout("B", ("write", 0), lambda i, j: [i // 4, j // 4, i % 4, j % 4])
    text = sch.mod.script()
    assert "B = T.alloc_buffer((4, 4, 4, 4))" in text
    assert "B[v_i // 4, v_j // 4, v_i % 4, v_j % 4]" in text
    check(sch, func)


def test_parameter_changes_its_shape() -> None:
    sch = open_schedule(chain())
    sch.transform_layout("B", "A", lambda i, j: [j, i])
    (func,) = sch.mod.functions.values()
    assert "A[v_j, v_i]" in sch.mod.script()
    assert isinstance(func, tir.PrimFunc)


def test_index_map_and_separators() -> None:
    func = chain()
    sch = open_schedule(func)
    sch.transform_layout("C", "C", lambda i, j: [i, tir.IndexMap.AXIS_SEPARATOR, j])
    buffer = sch.get(sch.get_block("C")).writes[0].buffer
    assert [int(s) for s in buffer.axis_separators] == [1]


def test_two_elements_at_one_place() -> None:
    sch = open_schedule(chain())
    block = sch.get_block("B")
    refuses(sch, "is not injective", "transform_layout", block, ("write", 0), lambda i, j: [i])


def padded_stage() -> tir.PrimFunc:
    """B = A * 2 of 14 elements; C = B + 1."""
    a = te.placeholder((14,), name="A")
    b = te.compute((14,), lambda i: a[i] * 2.0, name="B")
    return te.create_prim_func([a, te.compute((14,), lambda i: b[i] + 1.0, name="C")])


def test_writer_runs_over_the_padding() -> None:
    func = padded_stage()
    sch = open_schedule(func)
    sch.transform_layout("B", ("write", 0), lambda i: [i // 4, i % 4], pad_value=0.0)
    text = sch.mod.script()
    assert "T.grid(4, 4)" in text
    assert (
        "T.if_then_else(v_axis0 == 3 and 2 <= v_axis1, T.float32(0.0), "
        "A[v_axis0 * 4 + v_axis1] * T.float32(2.0))"
    ) in text
    check(sch, func)


def test_value_by_place() -> None:
    sch = open_schedule(elementwise(14))
    value = lambda i, j: tir.Cast("float32", i * 10 + j)
    sch.transform_layout("B", "B", lambda i: [i // 4, i % 4], pad_value=value)
    a, b = np.arange(14, dtype="float32"), np.zeros((4, 4), "float32")
    run(sch.mod, a, b)
    np.testing.assert_array_equal(b.reshape(-1), [*(a + 1), 32, 33])


@T.prim_func
def several_stores(A: T.Buffer((6, 8), "float32"), B: T.Buffer((6,), "float32")) -> None:
    for i, k in T.grid(6, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(1)
                B[vi] = B[vi] - T.float32(1)
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def results_inside(A: T.Buffer((6, 8), "float32"), B: T.Buffer((6,), "float32")) -> None:
    for k, i in T.grid(8, 6):
        with T.block("B"):
            vk, vi = T.axis.remap("RS", [k, i])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


@pytest.mark.parametrize("func", [row_sum(6, 8), several_stores, results_inside])
def test_reductions_run_over_the_padding(func: tir.PrimFunc) -> None:
    sch = open_schedule(func)
    sch.transform_layout("B", "B", lambda i: [i // 4, i % 4], pad_value=7.0)
    text = sch.mod.script()
    assert "T.if_then_else(v_axis0 == 1 and 2 <= v_axis1, T.float32(7.0), " in text
    assert "for axis0, axis1" in text or "for k, axis0, axis1" in text
    a, b = np.ones((6, 8), "float32"), np.zeros((2, 4), "float32")
    run(sch.mod, a, b)
    np.testing.assert_array_equal(b.reshape(-1), [8] * 6 + [7] * 2)


@T.prim_func
def between_results(A: T.Buffer((6, 2, 8), "float32"), B: T.Buffer((6, 2), "float32")) -> None:
    for i, k, j in T.grid(6, 8, 2):
        with T.block("B"):
            vi, vk, vj = T.axis.remap("SRS", [i, k, j])
            with T.init():
                B[vi, vj] = T.float32(0)
            B[vi, vj] = B[vi, vj] + A[vi, vj, vk]


def test_reductions_between_results_are_filled_after() -> None:
    sch = open_schedule(between_results)
    sch.transform_layout("B", "B", lambda i, j: [i // 4, i % 4, j], pad_value=7.0)
    text = sch.mod.script()
    assert 'T.block("buffer_B_padding")' in text
    assert "T.where(axis0 == 1 and 2 <= axis1)" in text
    a, b = np.ones((6, 2, 8), "float32"), np.zeros((2, 4, 2), "float32")
    run(sch.mod, a, b)
    np.testing.assert_array_equal(b.reshape(-1), [8] * 12 + [7] * 4)


def test_padding_of_a_parameter_is_promised() -> None:
    sch = open_schedule(elementwise(14))
    sch.transform_layout("B", ("read", 0), lambda i: [i // 4, i % 4], pad_value=0.0)
    text = sch.mod.script()
    assert 'T.block("buffer_A_assumptions")' in text
    assert "T.assume(" in text
    a, b = np.arange(16, dtype="float32").reshape(4, 4), np.zeros(14, "float32")
    run(sch.mod, a, b)
    np.testing.assert_array_equal(b, np.arange(14) + 1)


def test_value_of_another_buffer() -> None:
    sch = open_schedule(padded_stage())
    block = sch.get_block("B")
    other = sch.get(block).reads[0].buffer
    message = refuses(
        sch, "the padding of 'B' is to hold A[", "transform_layout", block, ("write", 0),
        lambda i: [i // 4, i % 4], lambda i, j: other[i],
    )  # fmt: skip
    assert "a pad_value made of constants" in message


def test_padding_that_nobody_asked_for() -> None:
    @T.prim_func
    def before(A: T.Buffer((10,), "int32"), C: T.Buffer((10,), "int32")):
        B = T.alloc_buffer((10,), "int32")
        for i in range(10):
            with T.block("B"):
                vi = T.axis.spatial(10, i)
                B[vi] = A[vi]
        for i in range(10):
            with T.block("C"):
                vi = T.axis.spatial(10, i)
                C[vi] = B[vi]

    sch = open_schedule(before)
    refuses(
        sch, "would introduce padding", "transform_layout", sch.get_block("B"), ("write", 0),
        lambda i: [i // 4, i % 4],
    )  # fmt: skip
    for value in (tir.IntImm("int8", 0), 1.5):
        with pytest.raises(ScheduleError, match="holds int32"):
            sch.transform_layout("B", ("write", 0), lambda i: [i // 4, i % 4], pad_value=value)
    sch.transform_layout("B", ("write", 0), lambda i: [i // 4, i % 4], pad_value=7)
    check(sch, before)


def test_a_map_of_one_index() -> None:
    sch = open_schedule(elementwise(4, 6))
    sch.transform_layout("B", ("write", 0), lambda i, j: i * 6 + j)
    assert [int(d) for d in sch.get(sch.get_block("B")).writes[0].buffer.shape] == [24]


def test_sampled_factors() -> None:
    a = te.placeholder((12,), name="A")
    b = te.compute((12,), lambda i: a[i] * 2.0, name="B")
    func = te.create_prim_func([a, te.compute((12,), lambda i: b[i] + 1.0, name="C")])
    sch = open_schedule(func)
    (loop,) = sch.get_loops("B")
    _, t1 = sch.sample_perfect_tile(loop, 2, decision=[4, 3])
    sch.transform_layout("B", ("write", 0), lambda i: [i // t1, i % t1])
    assert "B = T.alloc_buffer((4, 3))" in sch.mod.script()
    check(sch, func)
    again = tir.Schedule(func)
    sch.trace.apply_to_schedule(again, remove_postproc=False)
    assert "B = T.alloc_buffer((4, 3))" in again.mod.script()
    sch.transform_block_layout("C", lambda i: (i // t1, i % t1))
    check(sch, func)


def test_padding_of_parameters_has_to_be_asked_for_too() -> None:
    sch = open_schedule(elementwise(10))
    for side in ("read", "write"):
        refuses(
            sch, "hold nothing", "transform_layout", sch.get_block("B"), (side, 0),
            lambda i: [i // 4, i % 4],
        )  # fmt: skip
    sch.transform_layout("B", ("read", 0), lambda i: [i // 5, i % 5])
    assert "index_map=lambda i: (i // 5, i % 5,)" in str(sch.trace)


def test_names_of_a_function_for_the_padding_are_kept() -> None:
    sch = open_schedule(elementwise(10))
    sch.transform_layout(
        "B", ("write", 0), lambda i: [i // 4, i % 4],
        pad_value=lambda row, lane: (row + lane).astype("float32"),
    )  # fmt: skip
    assert "pad_value=lambda row, lane: " in str(sch.trace)
