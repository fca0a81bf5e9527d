import pytest

from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import ForceNarrowIndexToInt32

pytestmark = pytest.mark.pure


class TestEverything(PassTest):
    run = ForceNarrowIndexToInt32()

    @T.prim_func
    def Before(a: T.handle, n: T.int64):
        m = T.int64()
        A = T.match_buffer(a, (m,))
        for i in range(m):
            A[i] = T.Cast("float32", i * T.int64(2) + n)

    @T.prim_func
    def Expected(a: T.handle, n: T.int32):
        m = T.int32()
        A = T.match_buffer(a, (m,))
        for i in range(m):
            A[i] = T.Cast("float32", i * 2 + n)


class TestRejectsWideParameters(PassTest):
    run = ForceNarrowIndexToInt32()
    Expected = TVMError

    @T.prim_func
    def Before(A: T.Buffer((4,), "int64")):
        A[0] = T.int64(1)


def test_rejects_wide_buffers_of_blocks() -> None:
    @T.prim_func
    def func(A: T.Buffer((6,), "int32")):
        with T.block("root"):
            B = T.alloc_buffer((6,), "int64")
            for i in range(6):
                with T.block("B"):
                    v = T.axis.spatial(6, i)
                    B[v] = T.Cast("int64", A[v])

    with pytest.raises(TVMError, match="allocated in the function has dtype int64"):
        ForceNarrowIndexToInt32()(IRModule.from_expr(func))


def test_leading_zeros_of_the_upper_half_count() -> None:
    @T.prim_func
    def func(A: T.Buffer((8,), "int32")):
        for i in T.serial(T.int64(8)):
            A[i] = T.Cast("int32", T.clz(i + T.int64(1)))

    made = ForceNarrowIndexToInt32()(IRModule.from_expr(func))
    assert "T.clz(i + 1) - 32 + 64" in made.script()


def test_ranges_of_threads() -> None:
    @T.prim_func
    def func(A: T.Buffer((T.int64(64),), "int32")):
        bx = T.launch_thread("blockIdx.x", T.int64(4))
        for tx in T.thread_binding(T.int64(16), thread="threadIdx.x"):
            A[bx * T.int64(16) + tx] = 0

    made = ForceNarrowIndexToInt32()(IRModule.from_expr(func))["func"]
    thread = made.body.node
    assert (thread.var.dtype, thread.dom.min.dtype, thread.dom.extent.dtype) == ("int32",) * 3
    assert "int64" not in made.script()
