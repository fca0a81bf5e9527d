"""The block worth scheduling first."""

import pytest

from tests.tir.analysis.programs import matmul
from tvm.ir import IRModule
from tvm.script import tir as T
from tvm.tir.analysis import find_anchor_block

pytestmark = pytest.mark.pure


@T.prim_func
def two_sums(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8,), "float32"),
             C: T.Buffer((1,), "float32")) -> None:
    for i, k in T.grid(8, 64):
        with T.block("rows"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
    for k in range(8):
        with T.block("all"):
            vk = T.axis.reduce(8, k)
            with T.init():
                C[0] = T.float32(0)
            C[0] = C[0] + B[vk]


@T.prim_func
def elementwise(A: T.Buffer((8,), "float32")) -> None:
    for i in range(8):
        with T.block("a"):
            v = T.axis.spatial(8, i)
            A[v] = T.float32(1)


def test_largest_reduction() -> None:
    assert find_anchor_block(IRModule({"main": matmul})).name_hint == "D"
    assert find_anchor_block(IRModule({"main": two_sums})).name_hint == "rows"
    assert find_anchor_block(IRModule({"f": two_sums, "g": matmul})).name_hint == "D"
    assert find_anchor_block(IRModule({"main": elementwise})) is None
