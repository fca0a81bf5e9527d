from __future__ import annotations

import pytest

from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.script import ir as I
from tvm.script import tir as T
from tvm.target import Target
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import DefaultGPUSchedule

pytestmark = pytest.mark.pure


def on_gpu(mod: IRModule) -> IRModule:
    with Target("nvidia/geforce-rtx-3070"):
        return DefaultGPUSchedule()(mod)


class TestOneThreadAnElement(PassTest):
    run = on_gpu

    @I.ir_module
    class Before:
        @T.prim_func
        def main(A: T.Buffer((10, 10), "float32"), B: T.Buffer((10, 10), "float32")):
            for i, j in T.grid(10, 10):
                with T.block("add"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A[vi, vj] + T.float32(1)

    @I.ir_module
    class Expected:
        @T.prim_func
        def main(A: T.Buffer((10, 10), "float32"), B: T.Buffer((10, 10), "float32")):
            T.func_attr({"tir.is_scheduled": True})
            for i_j_fused_0 in T.thread_binding(1, thread="blockIdx.x"):
                for i_j_fused_1 in T.thread_binding(100, thread="threadIdx.x"):
                    with T.block("add"):
                        vi = T.axis.spatial(10, (i_j_fused_0 * 100 + i_j_fused_1) // 10)
                        vj = T.axis.spatial(10, (i_j_fused_0 * 100 + i_j_fused_1) % 10)
                        B[vi, vj] = A[vi, vj] + T.float32(1)


def _scheduled(mod: IRModule, name: str = "main") -> str:
    return str(on_gpu(mod)[name].script())


def test_many_elements_go_over_a_bounded_number_of_blocks() -> None:
    @T.prim_func
    def main(A: T.Buffer((1000000,), "float32")):
        for i in range(1000000):
            with T.block("set"):
                vi = T.axis.spatial(1000000, i)
                A[vi] = T.float32(1)

    text = _scheduled(IRModule.from_expr(main))
    assert 'T.thread_binding(256, thread="blockIdx.x")' in text
    assert 'T.thread_binding(1024, thread="threadIdx.x")' in text
    assert "range(4)" in text


def test_sizes_that_are_not_known() -> None:
    @T.prim_func
    def main(a: T.handle, n: T.int64):
        A = T.match_buffer(a, (n,), "float32")
        for i in range(n):
            with T.block("set"):
                vi = T.axis.spatial(n, i)
                A[vi] = T.float32(1)

    assert "thread_binding(T.int64(256)" in _scheduled(IRModule.from_expr(main))


def test_reductions_stay_in_a_thread() -> None:
    @T.prim_func
    def main(A: T.Buffer((64, 32), "float32"), B: T.Buffer((64,), "float32")):
        for i, k in T.grid(64, 32):
            with T.block("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]

    text = _scheduled(IRModule.from_expr(main))
    assert 'T.thread_binding(64, thread="threadIdx.x")' in text
    assert "for k in range(32)" in text


def test_what_is_scheduled_stays() -> None:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32")):
        T.func_attr({"tir.is_scheduled": True})
        for i in range(64):
            with T.block("set"):
                vi = T.axis.spatial(64, i)
                A[vi] = T.float32(1)

    mod = IRModule.from_expr(main)
    assert on_gpu(mod)["main"] is mod["main"]


def test_other_targets_are_only_marked() -> None:
    mod = IRModule.from_expr(TestOneThreadAnElement.Before["main"])
    with Target("llvm"):
        func = DefaultGPUSchedule()(mod)["main"]
    assert func.attrs["tir.is_scheduled"]
    assert func.body is mod["main"].body


def test_rejects_a_target_without_a_number_of_threads() -> None:
    func = TestOneThreadAnElement.Before["main"].with_attr("target", Target("ext_dev -keys=gpu"))
    with pytest.raises(TVMError, match="does not say how many it takes"):
        DefaultGPUSchedule()(IRModule.from_expr(func))


def test_functions_without_blocks_stay() -> None:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32")):
        for i in T.thread_binding(64, thread="threadIdx.x"):
            A[i] = T.float32(1)

    mod = IRModule.from_expr(main)
    assert on_gpu(mod)["main"].body is mod["main"].body
