"""Memory of a scheduled program is counted after it has its final size."""

from __future__ import annotations

import pytest

import tvm
from tvm import tir
from tvm.ir import IRModule
from tvm.script import tir as T

pytestmark = pytest.mark.pure


@T.prim_func
def staged(A: T.Buffer((1024,), "int8"), B: T.Buffer((1024,), "int8")):
    C = T.alloc_buffer((1024,), "int8", scope="global.vtcm")
    for i in range(8):
        for j in range(128):
            with T.block("load"):
                vi = T.axis.spatial(1024, i * 128 + j)
                C[vi] = A[vi]
        for j in range(128):
            with T.block("store"):
                vi = T.axis.spatial(1024, i * 128 + j)
                B[vi] = C[vi]


def test_only_what_lives_at_once_counts() -> None:
    passes = tir.analysis.get_vtcm_compaction_passes()
    lowered = tvm.transform.Sequential(passes)(IRModule({"main": staged}))
    assert tir.analysis.calculate_allocated_bytes(lowered) == {"main": {"global.vtcm": 128}}
    assert tir.analysis.calculate_allocated_bytes(staged) == {"main": {}}  # a block's buffer


def test_each_is_a_pass() -> None:
    passes = tir.analysis.get_vtcm_compaction_passes()
    assert [p.info.name for p in passes][:2] == [
        "tir.LowerInitBlock", "tir.PlanAndUpdateBufferAllocationLocation",
    ]  # fmt: skip
