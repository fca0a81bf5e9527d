from __future__ import annotations

import numpy as np
import pytest

from tests.dlight.programs import conv
from tests.tir.schedule.cases import chain, check, open_schedule, refuses
from tvm import te, tir
from tvm.script import tir as T
from tvm.tir.functor import walk
from tvm.tir.interp import run


def padded() -> tir.PrimFunc:
    """B = A with one zero before and two after each row."""
    a = te.placeholder((4, 8), name="A")
    zero = tir.const(0.0, "float32")
    b = te.compute(
        (4, 11),
        lambda i, j: tir.if_then_else(tir.all(1 <= j, j < 9), a[i, j - 1], zero),
        name="B",
    )
    return te.create_prim_func([a, b])


def test_at_the_outer_loop() -> None:
    func = padded()
    sch = open_schedule(func)
    i, _ = sch.get_loops("B")
    assert sch.can_decompose_padding("B", i)
    fill = sch.decompose_padding("B", i)
    assert sch.get(fill).name_hint == "B_pad_const"
    text = sch.mod.script()
    assert "B[v_i, v_j + 1] = A[v_i, v_j]" in text
    assert "if_then_else" not in text
    assert "T.grid(4, 8)" in text
    check(sch, func)


def test_row_by_row() -> None:
    func = padded()
    sch = open_schedule(func)
    i, j = sch.get_loops("B")
    sch.decompose_padding("B", j)
    names = [sch.get(b).name_hint for b in sch.get_child_blocks(i)]
    assert names == ["B_pad_const", "B"]
    check(sch, func)


def test_padding_of_a_convolution() -> None:
    func = conv(1, 2, 3, 5)
    sch = open_schedule(func)
    sch.decompose_padding("P", sch.get_loops("P")[1])
    check(sch, func)


def test_padded_dimension_outside() -> None:
    func = conv(1, 2, 3, 5)
    sch = open_schedule(func)
    block = sch.get_block("P")
    inner = sch.get_loops(block)[3]
    assert sch.can_decompose_padding(block, inner)
    sch.decompose_padding(block, inner)
    text = sch.mod.script()
    assert "if_then_else" not in text
    assert "T.where(1 <= i and i < 6)" in text, "the loop outside keeps its extent"
    check(sch, func)


@pytest.mark.parametrize("tile", [2, 4, 11])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_tiles_of_the_padded_dimension(tile: int, at: int) -> None:
    func = padded()
    sch = open_schedule(func)
    _, j = sch.get_loops("B")
    sch.split(j, [None, tile])
    loop = sch.get_loops("B")[at]
    assert sch.can_decompose_padding("B", loop)
    sch.decompose_padding("B", loop)
    text = sch.mod.script()
    assert "if_then_else" not in text
    start = "" if tile == 11 and at == 2 else f"j_0 * {tile} + "  # one iteration outside: j_0 is 0
    assert f"v_j = T.axis.spatial(8, {start}j_1 - 1)" in text
    assert f"1 <= j_0 * {tile} + j_1 and j_0 * {tile} + j_1 < 9" in text
    check(sch, func)


def test_a_loop_of_one_iteration_outside_is_its_value() -> None:
    func = conv(1, 2, 3, 5)
    sch = open_schedule(func)
    block = sch.get_block("P")
    sch.decompose_padding(block, sch.get_loops(block)[2])
    for name in ("P_pad_const", "P"):
        batch = sch.get_sref(sch.get_block(name)).parent
        realize = next(n for n in walk(batch.stmt) if isinstance(n, tir.BlockRealize))
        assert isinstance(realize.iter_values[0], tir.IntImm)
    check(sch, func)


def test_beside_its_reader() -> None:
    func = conv(1, 2, 3, 8)
    sch = open_schedule(func)
    reader = sch.get_consumers(sch.get_block("P"))[0]
    sch.compute_at("P", sch.get_loops(reader)[2])
    inner = sch.get_loops("P")[3]
    sch.decompose_padding("P", inner)
    assert "if_then_else" not in sch.mod.script()
    check(sch, func)


def test_threads_keep_their_number() -> None:
    sch = tir.Schedule(padded())
    i, j = sch.get_loops("B")
    sch.bind(j, "threadIdx.x")
    sch.decompose_padding("B", i)
    text = sch.mod.script()
    assert text.count('T.thread_binding(11, thread="threadIdx.x")') == 2
    assert "T.where(1 <= j and j < 9)" in text


def test_rows_within_a_part() -> None:
    """A block over a part of its domain: the copy runs over what of the inside it reaches."""

    @T.prim_func
    def part(a: T.Buffer((8,), "float32"), b: T.Buffer((11,), "float32")) -> None:
        for i in range(5):
            with T.block("B"):
                v = T.axis.spatial(11, i)
                b[v] = T.if_then_else(1 <= v and v < 9, a[v - 1], T.float32(0))

    sch = open_schedule(part)
    sch.decompose_padding("B", sch.get_loops("B")[0])
    text = sch.mod.script()
    assert text.count("in range(5)") == text.count("in range(4)") == 1
    assert "T.where" not in text
    a, b = np.arange(8, dtype="float32") + 1, np.ones(11, "float32")
    run(sch.mod, a, b)
    np.testing.assert_array_equal(b, [0, 1, 2, 3, 4, *[1] * 6])


def test_nothing_is_padded() -> None:
    a = te.placeholder((8,), name="A")
    zero = tir.const(0.0, "float32")
    b = te.compute(
        (8,), lambda i: tir.if_then_else(tir.all(0 <= i, i < 8), a[i], zero), name="B"
    )
    sch = open_schedule(te.create_prim_func([a, b]))
    block = sch.get_block("B")
    (loop,) = sch.get_loops(block)
    assert not sch.can_decompose_padding(block, loop)
    refuses(sch, "there is no padding", "decompose_padding", block, loop)


def test_other_blocks() -> None:
    sch = open_schedule(chain())
    block = sch.get_block("B")
    refuses(sch, "is no padding", "decompose_padding", block, sch.get_loops(block)[0])
    refuses(sch, "is not around block", "decompose_padding", block, sch.get_loops("C")[0])
