from __future__ import annotations

import pytest

from tests.tir.schedule.cases import chain, matmul
from tvm import IRModule
from tvm.error import TVMError
from tvm.tir import BlockDependenceInfo
from tvm.tir.block_scope import DepKind, StmtSRef
from tvm.tir.schedule import Schedule


def test_dependencies_of_a_chain() -> None:
    func = chain()
    info = BlockDependenceInfo(func)
    root = func.body.block
    scope = info.get_block_scope(info.get_sref(root))
    first, second, third = scope.children
    assert [s.stmt.name_hint for s in scope.children] == ["B", "C", "D"]
    assert all(s.parent is info.get_sref(root) for s in scope.children)
    (dep,) = scope.get_deps_by_dst(second)
    assert (dep.src, dep.kind) == (first, DepKind.RAW)
    assert scope.get_deps_by_src(third) == []


def test_same_as_a_schedule_says() -> None:
    sch = Schedule(matmul())
    loops = sch.get_loops("C")
    sch.decompose_reduction("C", loops[2])
    info = BlockDependenceInfo(sch.mod)
    root = sch.get(sch.get_block("root"))
    scope = info.get_block_scope(info.get_sref(root))
    (init, _) = scope.children
    assert [d.kind for d in scope.get_deps_by_src(init)] == [DepKind.RAW, DepKind.WAW]


def test_strangers() -> None:
    info = BlockDependenceInfo(IRModule({"one": matmul(), "two": chain()}))
    assert len(info.mod.functions) == 2
    assert info.get_sref(matmul().body.block) is None
    with pytest.raises(TVMError, match="not that of a block of this module"):
        info.get_block_scope(StmtSRef(None))
    with pytest.raises(TypeError, match="legal: PrimFunc, IRModule"):
        BlockDependenceInfo(3)
