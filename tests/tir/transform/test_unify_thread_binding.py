import pytest

from tvm.error import TVMError
from tvm.ir import assert_structural_equal
from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.tir.functor import walk
from tvm.tir.transform import UnifyThreadBinding

pytestmark = pytest.mark.pure


@T.prim_func
def siblings(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for b in T.thread_binding(2, thread="blockIdx.x"):
        for i in T.thread_binding(4, thread="threadIdx.x"):
            A[b * 4 + i] = 0.0
        for j in T.thread_binding(4, thread="threadIdx.x"):
            B[b * 4 + j] = 1.0


def loops(func):
    body = UnifyThreadBinding()(IRModule.from_expr(func))[str(func.attrs["global_symbol"])].body
    return [n for n in walk(body) if type(n).__name__ == "For"]


def test_one_variable_a_thread():
    @T.prim_func
    def expected(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for b in T.thread_binding(2, thread="blockIdx.x"):
            for t in T.thread_binding(4, thread="threadIdx.x"):
                A[b * 4 + t] = 0.0
                B[b * 4 + t] = 1.0

    made = UnifyThreadBinding()(IRModule({"main": siblings}))["main"]
    assert_structural_equal(made.body, expected.body, map_free_vars=True)


def test_launches_stand_around_the_kernel_in_the_order_in_which_they_come_up():
    @T.prim_func
    def before(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
        bx = T.launch_thread("blockIdx.x", 2)
        for k in range(4):
            with T.launch_thread("threadIdx.x", 4) as tx:
                A[bx * 4 + tx, k] = 0.0
            for v in T.thread_binding(2, thread="vthread", annotations={"key": 1}):
                for t in T.thread_binding(T.int64(4), thread="threadIdx.x"):
                    B[bx * 4 + T.Cast("int32", t), k] = T.Cast("float32", v)

    @T.prim_func
    def expected(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
        for b in T.thread_binding(2, thread="blockIdx.x"):
            for t in T.thread_binding(4, thread="threadIdx.x"):
                for v in T.thread_binding(2, thread="vthread"):
                    for k in range(4):
                        A[b * 4 + t, k] = 0.0
                        for u in T.serial(1, annotations={"key": 1}):
                            B[b * 4 + T.Cast("int32", T.Cast("int64", t)), k] = T.Cast("float32", v)

    made = UnifyThreadBinding()(IRModule({"main": before}))["main"]
    assert_structural_equal(made.body, expected.body, map_free_vars=True)


def test_extents_that_are_computed_within_stay_there():
    @T.prim_func
    def before(A: T.Buffer((8, 8), "float32")):
        for b in T.thread_binding(8, thread="blockIdx.x"):
            for k in range(8):
                for t in T.thread_binding(k + 1, thread="threadIdx.x"):
                    A[b, t] = 0.0
            for t in T.thread_binding(8, thread="threadIdx.x"):
                A[b, t] = 1.0

    outer, last, serial, inner = loops(before)
    assert [loop.thread_binding is None for loop in (outer, last, serial, inner)] == [
        False, False, True, False,
    ]  # fmt: skip
    assert serial.loop_var in list(walk(inner.extent))


def test_nested_launches_become_one():
    @T.prim_func
    def nested(A: T.Buffer((4,), "float32")):
        for i in T.thread_binding(4, thread="threadIdx.x"):
            for j in T.thread_binding(4, thread="threadIdx.x"):
                A[j] = T.Cast("float32", i)

    (loop,) = loops(nested)
    assert loop.body.indices[0] is loop.loop_var


def test_rejects_different_extents():
    @T.prim_func
    def uneven(A: T.Buffer((8,), "float32")):
        for b in T.thread_binding(1, thread="blockIdx.x"):
            for i in T.thread_binding(4, thread="threadIdx.x"):
                A[i] = 0.0
            for j in T.thread_binding(8, thread="threadIdx.x"):
                A[j + b] = 1.0

    for kind in (TVMError, ValueError):
        with pytest.raises(kind, match="should have the same extent"):
            loops(uneven)


def test_kernels_that_follow_each_other_have_extents_of_their_own():
    @T.prim_func
    def two(A: T.Buffer((8,), "float32")):
        for i in T.thread_binding(4, thread="threadIdx.x"):
            A[i] = 0.0
        for j in T.thread_binding(8, thread="threadIdx.x"):
            A[j] = 1.0

    first, second = loops(two)
    assert first.loop_var is not second.loop_var
    assert (first.extent.value, second.extent.value) == (4, 8)


def test_each_kernel_has_extents_of_its_own():
    @T.prim_func
    def two(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for b in T.thread_binding(2, thread="blockIdx.x"):
            for i in T.thread_binding(4, thread="threadIdx.x"):
                A[b * 4 + i] = 0.0
        for b in T.thread_binding(1, thread="blockIdx.x"):
            for i in T.thread_binding(8, thread="threadIdx.x"):
                B[b * 8 + i] = 1.0

    assert [loop.extent.value for loop in loops(two)] == [2, 4, 1, 8]
