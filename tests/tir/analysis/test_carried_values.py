from typing import Any

import pytest

import tvm
from tvm import te, topi
from tvm.script import tir as T
from tvm.tir import transform
from tvm.tir.analysis.carried_values import carries_values
from tvm.tir.functor import walk

pytestmark = pytest.mark.pure


@T.prim_func
def sums(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((1,))
    for i in range(4):
        for k in range(16):
            with T.block("sum"):
                if k == 0:
                    B[0] = 0.0
                B[0] = B[0] + A[i, k]
        C[i] = B[0]


@T.prim_func
def through_pointers(A: T.Buffer((4, 16), "float32")):
    B = T.alloc_buffer((16,))
    for i in range(4):
        T.evaluate(T.call_extern("int32", "fill", B.data))
        A[i, 0] = B[0]
    for k in range(4):
        T.evaluate(
            T.call_extern("int32", "more", T.tvm_access_ptr(T.type_annotation("float32"), B.data, 0,
                                                            16, 3))
        )  # fmt: skip


@T.prim_func
def conditions(A: T.Buffer((16,), "float32"), n: T.int32):
    B = T.alloc_buffer((1,))
    for either in range(16):
        if n > either:
            B[0] = 1.0
        else:
            B[0] = 2.0
        A[either] = B[0]
    for perhaps in range(16):
        if n > perhaps:
            B[0] = 1.0
        A[perhaps] = B[0]
    for masked in range(16):
        with T.block("block"):
            T.where(n > masked)
            B[0] = 1.0
        A[masked] = B[0]
    for bound in range(16):
        with T.block("tells"):
            v = T.axis.reduce(16, bound)
            B[0] = B[0] + A[v]
    for index in range(16):
        A[T.int32(B[0])] = 0.0
    for without in range(16):
        A[without] = 0.0


def carried(func: Any) -> dict[str, bool]:
    """For each loop whether it carries values of B."""
    nodes = list(walk(func.body))
    blocks = [node for node in nodes if isinstance(node, tvm.tir.Block)]
    (buffer,) = [buffer for block in blocks for buffer in block.alloc_buffers]
    loops = [node for node in nodes if isinstance(node, tvm.tir.For)]
    return {loop.loop_var.name: carries_values(loop, buffer) for loop in loops}


def test_a_reduction_carries_and_what_is_around_it_does_not() -> None:
    assert carried(sums) == {"i": False, "k": True}


def test_pointers_tell_whether_they_are_read() -> None:
    assert carried(through_pointers) == {"i": False, "k": True}


def test_a_write_under_an_open_condition_is_none() -> None:
    assert carried(conditions) == {
        "either": False, "perhaps": True, "masked": True, "bound": False, "index": True,
        "without": False,
    }  # fmt: skip


def test_accumulators_of_argmax_stay_where_they_are() -> None:
    """Planned with block variables and planned again without: the same places."""
    x = te.placeholder((4, 16), "float32", "x")
    mod = tvm.IRModule({"main": te.create_prim_func([x, topi.argmax(x, axis=1)])})
    plan = transform.PlanAndUpdateBufferAllocationLocation()
    once = transform.ConvertBlocksToOpaque()(plan(transform.LowerInitBlock()(mod)))
    tvm.ir.assert_structural_equal(plan(once), once)
