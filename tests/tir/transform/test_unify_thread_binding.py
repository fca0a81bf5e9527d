import pytest

from tvm.error import TVMError
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
    found = loops(siblings)
    assert len(found) == 3
    assert found[1].loop_var is found[2].loop_var


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

    with pytest.raises(TVMError, match="should have the same extent"):
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
