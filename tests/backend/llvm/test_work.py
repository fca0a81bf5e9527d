"""How much work loops are: constants, symbols, and what is known outside."""

from __future__ import annotations

import pytest

from tvm.backend.llvm import work
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import decl_buffer

pytestmark = pytest.mark.pure
A = decl_buffer([64], "int32", "A")
N = e.Var("n", "int64")
STORE = s.BufferStore(A, e.IntImm("int32", 1), [e.IntImm("int32", 0)])
UNIT = 3  # the store, its value and its index


def loop(extent: object, body: s.Stmt, kind: s.ForKind = s.ForKind.SERIAL) -> s.For:
    return s.For(e.Var("i", "int64"), 0, extent, kind, body)  # type: ignore[arg-type]


def test_constant_loops_are_products() -> None:
    inner = loop(10, STORE)
    outer = loop(7, s.SeqStmt([inner, STORE]))
    found = work.work_of_loops(outer)
    assert found[id(inner)] == work.Work(UNIT)
    assert found[id(outer)].fixed in (11 * UNIT, 11 * UNIT + 1)
    assert not found[id(outer)].is_much
    assert found[id(outer)].fixed < work.MIN_COUNTED


def test_symbols_are_kept_where_they_are_known() -> None:
    inner = loop(N, STORE)
    outer = loop(5, inner)
    found = work.work_of_loops(outer)[id(outer)]
    assert found.is_much
    assert found.within({N}).terms == ((UNIT, (N,)),)
    assert found.within(set()) == work.Work(16 * UNIT)


def test_extents_that_depend_on_the_loop_are_guessed() -> None:
    outer_var = e.Var("i", "int64")
    inner = loop(outer_var, STORE)
    outer = s.For(outer_var, 0, 5, s.ForKind.SERIAL, inner)
    found = work.work_of_loops(outer)[id(outer)].within({N})
    assert found == work.Work(16 * UNIT)


@pytest.mark.parametrize(("extent", "is_cut"), [(None, True), (1000, False), (1 << 40, True)])
def test_long_loops_of_little_work_are_cut(extent: int | None, is_cut: bool) -> None:
    piece = work.pieces(s.ForKind.SERIAL, work.Work(UNIT), extent)
    assert (piece is not None) == is_cut
    if piece is not None:
        assert piece % 64 == 0
        assert piece * UNIT <= work.BUDGET
    assert work.pieces(s.ForKind.VECTORIZED, work.Work(UNIT), extent) is None
    assert work.pieces(s.ForKind.SERIAL, work.Work(work.MIN_COUNTED), extent) is None


def test_loops_of_much_work_count_it() -> None:
    assert work.counts(s.ForKind.SERIAL, work.Work(work.MIN_COUNTED))
    assert work.counts(s.ForKind.PARALLEL, work.Work(1, ((1, (N,)),)))
    assert not work.counts(s.ForKind.SERIAL, work.Work(work.MIN_COUNTED - 1))
    assert not work.counts(s.ForKind.UNROLLED, work.Work(work.MIN_COUNTED))
