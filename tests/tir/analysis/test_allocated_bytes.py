"""Allocated memory."""

import pytest

from tests.tir.analysis.programs import matmul
from tvm.ir import IRModule
from tvm.ir.transform import Sequential
from tvm.script import tir as T
from tvm.tir.analysis import calculate_allocated_bytes, get_vtcm_compaction_passes

pytestmark = pytest.mark.pure


@T.prim_func
def scopes() -> None:
    for i in range(4):
        a = T.allocate((8, 4), "float32", "shared")
        b = T.allocate((6,), "float16", "local")
        T.evaluate(i)
    c = T.allocate((2,), "int8", "shared")
    T.evaluate(0)


@T.prim_func
def constant() -> None:
    a = T.allocate_const([1, 2], "int8", [2])
    T.evaluate(a)


def test_largest_at_one_time() -> None:
    found = calculate_allocated_bytes(IRModule({"f": scopes, "g": matmul}))
    assert found["f"] == {"shared": 128, "local": 12}


def test_only_allocations_count() -> None:
    blocks = IRModule({"main": matmul.with_attr("global_symbol", "main")})
    assert calculate_allocated_bytes(matmul) == {"main": {}}
    passes = Sequential(get_vtcm_compaction_passes())
    assert calculate_allocated_bytes(passes(blocks)) == {"main": {"global": 128 * 128 * 4}}
    assert calculate_allocated_bytes(constant) == {"main": {}}


def test_other_things_are_refused() -> None:
    with pytest.raises(TypeError, match="legal: a PrimFunc or an IRModule"):
        calculate_allocated_bytes(3)
