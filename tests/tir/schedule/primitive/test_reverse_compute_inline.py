from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.tir.schedule.cases import chain, check, matmul_relu, open_schedule, refuses
from tvm import te, tir
from tvm.script import tir as T
from tvm.tir.schedule.primitive.reverse_compute_inline import can_reverse_compute_inline


def test_finish_where_it_is_made() -> None:
    func = chain()
    sch = open_schedule(func)
    sch.reverse_compute_inline("D")
    sch.reverse_compute_inline("C")
    assert "alloc_buffer" not in sch.mod.script()
    check(sch, func)


def test_other_layout() -> None:
    a = te.placeholder((4, 8), name="A")
    b = te.compute((4, 8), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((8, 4), lambda i, j: b[j, i] + 1.0, name="C")
    func = te.create_prim_func([a, c])
    sch = open_schedule(func)
    sch.reverse_compute_inline("C")
    assert "C[v_j, v_i] = A[v_i, v_j] * T.float32(2.0) + T.float32(1.0)" in sch.mod.script()
    check(sch, func)


def test_part_of_the_producer() -> None:
    a = te.placeholder((16,), name="A")
    b = te.compute((16,), lambda i: a[i] * 2.0, name="B")
    func = te.create_prim_func([a, te.compute((10,), lambda i: b[i] + 1.0, name="C")])
    sch = open_schedule(func)
    sch.reverse_compute_inline("C")
    assert "T.where(i < 10)" in sch.mod.script()
    check(sch, func)


def test_sums_cannot_be_finished_inside() -> None:
    sch = open_schedule(matmul_relu())
    refuses(sch, "does more than to move", "reverse_compute_inline", sch.get_block("D"))


def _sums() -> tuple[te.Tensor, te.Tensor]:
    a = te.placeholder((4, 6, 5), name="A")
    k = te.reduce_axis((0, 5), name="k")
    return a, te.compute((4, 6), lambda i, j: te.sum(a[i, j, k], axis=k), name="B")


@pytest.mark.parametrize(
    ("shape", "place"),
    [
        ((6, 4), lambda j, i: (i, j)),
        ((6, 1, 4), lambda j, u, i: (i, j)),
        ((24,), lambda f: (f // 6, f % 6)),
    ],
)
def test_sums_are_made_where_they_are_moved_to(
    shape: tuple[int, ...], place: Callable[..., tuple[tir.PrimExpr, ...]]
) -> None:
    a, b = _sums()
    func = te.create_prim_func([a, te.compute(shape, lambda *i: b[place(*i)], name="C")])
    sch = open_schedule(func)
    sch.reverse_compute_inline("C")
    text = sch.mod.script()
    assert "alloc_buffer" not in text
    assert text.count(" C[") + text.count("(C[") == 4  # writes, init, update on both sides
    check(sch, func)


def test_parts_of_sums() -> None:
    a, b = _sums()
    func = te.create_prim_func([a, te.compute((3, 6), lambda i, j: b[i, j], name="C")])
    sch = open_schedule(func)
    refuses(sch, "over all of its result", "reverse_compute_inline", sch.get_block("C"))


@pytest.mark.parametrize("extent", [127, 100, 33])
def test_rows_that_are_not_filled(extent: int) -> None:
    a = te.placeholder((8, 4, 16, 32), name="A")
    b = te.compute((8, 4, 16, 32), lambda *i: a[i] * 2.0, name="B")
    c = te.compute(
        (extent, extent), lambda i, j: b[i // 16, j // 32, i % 16, j % 32] + 1.0, name="C"
    )
    func = te.create_prim_func([a, c])
    sch = open_schedule(func)
    sch.reverse_compute_inline("C")
    text = sch.mod.script()
    assert f"T.where(i0 * 16 + i2 < {extent} and i1 * 32 + i3 < {extent})" in text
    assert "C[v_i2 + v_i0 * 16, v_i3 + v_i1 * 32]" in text
    check(sch, func)


def test_several_readers() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] * 2.0, name="B")
    c = te.compute((8,), lambda i: b[i] + 1.0, name="C")
    d = te.compute((8,), lambda i: b[i] - 1.0, name="D")
    sch = open_schedule(te.create_prim_func([a, c, d]))
    refuses(sch, "is read by", "reverse_compute_inline", sch.get_block("C"))


def test_consumers_with_a_border() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] * 2.0, name="B")
    zero = tir.const(0.0, "float32")
    padded = te.compute(
        (10,), lambda i: tir.if_then_else(tir.all(i >= 1, i < 9), b[i - 1], zero), name="C"
    )
    sch = open_schedule(te.create_prim_func([a, padded]))
    refuses(sch, "also runs where it does not read", "reverse_compute_inline", sch.get_block("C"))


def test_copies_of_what_is_padded() -> None:
    a = te.placeholder((8,), name="A")
    zero = tir.const(0.0, "float32")
    padded = te.compute(
        (10,), lambda i: tir.if_then_else(tir.all(i >= 1, i < 9), a[i - 1], zero), name="C"
    )
    func = te.create_prim_func([a, te.compute((10,), lambda i: padded[i] * 2.0, name="D")])
    sch = open_schedule(func)
    sch.cache_read("C", 0, "shared")
    block = sch.get_block("C")
    refuses(sch, "also runs where it does not read 'A_shared'", "reverse_compute_inline", block)
    sch.reverse_compute_inline("D")  # the whole border is made by C
    check(sch, func)


@pytest.mark.parametrize(
    "read",
    [
        lambda b: te.compute((8, 16), lambda i, j: b[i, j // 2], name="C"),  # repeats
        lambda b: te.compute((8,), lambda i: b[i, i], name="C"),  # the diagonal
        lambda b: te.compute((8, 4), lambda i, j: b[i, j % 2], name="C"),  # goes round
        lambda b: te.compute((8, 4), lambda i, j: b[i, 3], name="C"),  # spreads
    ],
)
def test_what_one_element_does_not_settle(read: Callable[[te.Tensor], te.Tensor]) -> None:
    a = te.placeholder((8, 8), name="A")
    b = te.compute((8, 8), lambda i, j: a[i, j] * 2.0, name="B")
    sch = open_schedule(te.create_prim_func([a, read(b)]))
    block = sch.get_block("C")
    refuses(sch, "from which its variables cannot be told", "reverse_compute_inline", block)


@pytest.mark.parametrize(
    "read",
    [
        lambda b: te.compute((8, 4), lambda i, j: b[i, j * 2], name="C"),
        lambda b: te.compute((8, 3), lambda i, j: b[i, j * 2 + 1], name="C"),
        lambda b: te.compute((4, 4), lambda i, j: b[i + 2, j + 3], name="C"),
        lambda b: te.compute((2, 4, 8), lambda i, k, j: b[i * 4 + k, j], name="C"),
        lambda b: te.compute((2, 3, 8), lambda i, k, j: b[i * 4 + k, j], name="C"),
        lambda b: te.compute((64,), lambda i: b[i // 8, i % 8], name="C"),
        lambda b: te.compute((56,), lambda i: b[i // 8, i % 8], name="C"),
        lambda b: te.compute((8, 8), lambda i, j: b[7 - i, j], name="C"),
    ],
)
def test_reads_of_a_part(read: Callable[[te.Tensor], te.Tensor]) -> None:
    a = te.placeholder((8, 8), name="A")
    b = te.compute((8, 8), lambda i, j: a[i, j] * 2.0, name="B")
    func = te.create_prim_func([a, read(b)])
    sch = open_schedule(func)
    if can_reverse_compute_inline(sch.state, sch.get_sref(sch.get_block("C"))):
        sch.reverse_compute_inline("C")
        check(sch, func)


def test_what_other_scopes_read_stays() -> None:
    @T.prim_func
    def func(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,))):
        Q = T.alloc_buffer((8,))
        with T.block("outer"):
            T.reads(A[0:8], Q[0:8])
            T.writes(Q[0:8], B[0:8])
            for i in range(8):
                with T.block("Q"):
                    v = T.axis.spatial(8, i)
                    Q[v] = A[v] * 2.0
            for i in range(8):
                with T.block("B"):
                    v = T.axis.spatial(8, i)
                    B[v] = Q[v] + 1.0
        for i in range(8):
            with T.block("C"):
                v = T.axis.spatial(8, i)
                C[v] = Q[v]

    sch = open_schedule(func)
    refuses(sch, "is used outside of its scope", "reverse_compute_inline", sch.get_block("B"))
