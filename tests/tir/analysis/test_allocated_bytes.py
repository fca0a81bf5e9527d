"""Allocated memory."""

import pytest

from tests.tir.analysis.programs import matmul
from tvm.ir import IRModule
from tvm.script import tir as T
from tvm.tir.analysis import calculate_allocated_bytes

pytestmark = pytest.mark.pure


@T.prim_func
def scopes() -> None:
    for i in range(4):
        a = T.allocate((8, 4), "float32", "shared")
        b = T.allocate((6,), "float16", "local")
        T.evaluate(i)
    c = T.allocate((2,), "int8", "shared")
    T.evaluate(0)


def test_largest_at_one_time() -> None:
    assert calculate_allocated_bytes(matmul) == {"main": {"global": 128 * 128 * 4}}
    found = calculate_allocated_bytes(IRModule({"f": scopes, "g": matmul}))
    assert found["f"] == {"shared": 128, "local": 12}
    assert found["g"] == {"global": 65536}


def test_other_things_are_refused() -> None:
    with pytest.raises(TypeError, match="legal: a PrimFunc or an IRModule"):
        calculate_allocated_bytes(3)
