"""How far a check rises: the block of indices that it covers."""

import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.tir import stmt as s
from tvm.tir.functor import walk
from tvm.tir.transform import CheckIndices

pytestmark = pytest.mark.pure


def loops_around(func):
    """The extents and kinds of the loops around the quick look, or around the assertion."""
    body = CheckIndices()(IRModule.from_expr(func))["main"].body
    found = []
    quick = any(isinstance(node, s.Block) and node.name_hint == "indices" for node in walk(body))

    def visit(stmt, loops):
        if isinstance(stmt, s.For):
            loops = [*loops, (int(stmt.extent), stmt.kind.name)]
        looks = isinstance(stmt, s.BufferStore) and stmt.buffer.name in ("outside", "highest")
        asserts = isinstance(stmt, s.AssertStmt) and not quick
        if (looks or asserts) and loops not in found:
            found.append(loops)
        for child in _children(stmt):
            visit(child, loops)

    visit(body, [])
    return found


def _children(stmt):
    if isinstance(stmt, s.SeqStmt):
        return stmt.seq
    parts = [getattr(stmt, name, None) for name in ("body", "then_case", "else_case", "block")]
    return [part for part in parts if isinstance(part, s.Stmt)]


def test_out_of_loops_that_do_not_matter():
    @T.prim_func
    def main(A: T.Buffer((9, 64), "float32"), P: T.Buffer((5,), "int64"),
             B: T.Buffer((5, 64), "float32")):  # fmt: skip
        for i in range(5):
            for j in T.vectorized(64):
                B[i, j] = A[P[i], j]

    assert loops_around(main) == [[], [(5, "SERIAL")]]


def test_a_vector_of_indices_is_a_block():
    @T.prim_func
    def main(A: T.Buffer((9, 64), "float32"), P: T.Buffer((9, 16), "int64"),
             B: T.Buffer((9, 16), "float32")):  # fmt: skip
        for i in T.parallel(9):
            for j in T.vectorized(16):
                B[i, j] = A[i, P[i, j]]

    assert loops_around(main) == [[(9, "PARALLEL")]]


def test_a_loop_over_single_indices_goes_in_blocks():
    @T.prim_func
    def main(A: T.Buffer((9, 4), "float32"), P: T.Buffer((100,), "int64"),
             B: T.Buffer((100, 4), "float32")):  # fmt: skip
        for i in range(100):
            for j in T.vectorized(4):
                B[i, j] = A[P[i], j]

    body = CheckIndices()(IRModule.from_expr(main))["main"].body
    loops = [int(node.extent) for node in walk(body) if isinstance(node, s.For)]
    assert loops_around(main) == [[(3, "SERIAL")]]
    assert sorted(loops) == [3, 4, 4, 4, 32, 32]  # and the rest of four


def test_where_data_says_where_to_write_all_comes_first():
    @T.prim_func
    def main(P: T.Buffer((9, 16), "int64"), A: T.Buffer((9, 16), "float32"),
             B: T.Buffer((9, 16), "float32")):  # fmt: skip
        for i in T.parallel(9):
            for j in range(16):
                B[i, P[i, j]] = A[i, j]

    body = CheckIndices()(IRModule.from_expr(main))["main"].body
    assert loops_around(main) == [[(9, "PARALLEL")]]
    kinds = [node for node in walk(body) if isinstance(node, s.For)]
    assert len({loop.loop_var for loop in kinds}) == len(kinds)  # loops of their own


def test_what_changes_in_a_loop_is_checked_there():
    @T.prim_func
    def main(A: T.Buffer((9,), "float32"), P: T.Buffer((9,), "int64"),
             B: T.Buffer((9,), "float32")):  # fmt: skip
        for i in range(9):
            P[i] = P[i] + T.int64(1)
            B[i] = A[P[i]]

    assert loops_around(main) == [[(9, "SERIAL")]]
