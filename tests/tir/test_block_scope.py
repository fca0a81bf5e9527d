from __future__ import annotations

from tests.tir.schedule.cases import chain, matmul
from tvm.tir.block_scope import DepKind, StmtSRef
from tvm.tir.schedule import Schedule


def test_dependencies_by_buffer() -> None:
    sch = Schedule(chain())
    root = sch.get_sref(sch.get_block("root"))
    scope = sch.state.get_block_scope(root)
    first, second, third = scope.children
    (dep,) = scope.get_deps_by_src(first)
    assert (dep.src, dep.dst, dep.kind) == (first, second, DepKind.RAW)
    assert [d.src for d in scope.get_deps_by_dst(third)] == [second]
    assert scope.get_deps_by_src(third) == []


def test_updates_depend_on_the_init() -> None:
    sch = Schedule(matmul())
    block = sch.get_block("C")
    init = sch.decompose_reduction(block, sch.get_loops(block)[2])
    scope = sch.state.get_block_scope(sch.get_sref(sch.get_block("root")))
    kinds = {d.kind for d in scope.get_deps_by_src(sch.get_sref(init))}
    assert kinds == {DepKind.RAW, DepKind.WAW}


def test_marks() -> None:
    assert StmtSRef.inline_mark() is StmtSRef.inline_mark()
    assert StmtSRef.inline_mark() is not StmtSRef.root_mark()
    assert StmtSRef.root_mark().stmt is None
