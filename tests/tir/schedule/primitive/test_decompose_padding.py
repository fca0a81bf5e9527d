from __future__ import annotations

from tests.dlight.programs import conv
from tests.tir.schedule.cases import chain, check, open_schedule, refuses
from tvm import te, tir


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
    sch = open_schedule(conv(1, 2, 3, 5))
    block = sch.get_block("P")
    inner = sch.get_loops(block)[3]
    assert not sch.can_decompose_padding(block, inner)
    refuses(sch, "is not one of the loops inside", "decompose_padding", block, inner)


def test_other_blocks() -> None:
    sch = open_schedule(chain())
    block = sch.get_block("B")
    refuses(sch, "is no padding", "decompose_padding", block, sch.get_loops(block)[0])
    refuses(sch, "is not around block", "decompose_padding", block, sch.get_loops("C")[0])
