from __future__ import annotations

import pytest

import tvm
from tests.dlight.gpu.lowered import CUDA, KINDS, check, target
from tests.dlight.gpu.workloads import elementwise, product
from tests.dlight.programs import conv, reduction, softmax
from tvm import dlight as dl
from tvm import te, topi
from tvm.dlight.gpu import Fallback
from tvm.script import tir as T
from tvm.target import Target


@pytest.mark.parametrize("kind", KINDS)
def test_functions_of_all_kinds(kind: str) -> None:
    on = target(kind)
    check(Fallback(), elementwise(33, 7), on)
    check(Fallback(), product(5, 7, 9, epilogue=True), on)
    check(Fallback(), reduction((6, 5, 4), (1,)), on)
    check(Fallback(), softmax(3, 40), on)
    check(Fallback(), conv(1, 3, 4, 6, epilogue=True), on)


@pytest.mark.parametrize("n", [1, 300])
def test_symbolic_extents(n: int) -> None:
    check(Fallback(), elementwise("n", 7), target("vulkan"), sizes={"n": n})


def test_the_schedule_as_text() -> None:
    @T.prim_func
    def before(A: T.Buffer((1, 32, 1, 128), "float16"), C: T.Buffer((1, 1, 4096), "float16")):  # type: ignore[no-untyped-def]
        B = T.alloc_buffer((1, 1, 32, 128), "float16")
        for i, j, k, l in T.grid(1, 1, 32, 128):
            with T.block("T_transpose"):
                vi, vj, vk, vl = T.axis.remap("SSSS", [i, j, k, l])
                B[vi, vj, vk, vl] = A[vi, vk, vj, vl]
        for i, j, k in T.grid(1, 1, 4096):
            with T.block("T_reshape"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                C[vi, vj, vk] = B[0, 0, vk % 4096 // 128, vk % 128]

    @T.prim_func
    def expected(A: T.Buffer((1, 32, 1, 128), "float16"), C: T.Buffer((1, 1, 4096), "float16")):  # type: ignore[no-untyped-def]
        T.func_attr({"tir.is_scheduled": True})
        for ax0_fused_0 in T.thread_binding(4, thread="blockIdx.x"):
            for ax0_fused_1 in T.thread_binding(1024, thread="threadIdx.x"):
                with T.block("T_reshape"):
                    v0 = T.axis.spatial(4096, ax0_fused_0 * 1024 + ax0_fused_1)
                    T.reads(A[0, v0 // 128, 0, v0 % 128])
                    T.writes(C[0, 0, v0])
                    C[0, 0, v0] = A[0, v0 // 128, 0, v0 % 128]

    mod = tvm.IRModule({"main": before.without_attr("global_symbol")})
    with CUDA:
        after = dl.ApplyDefaultSchedule(Fallback())(mod)
    tvm.ir.assert_structural_equal(after["main"], expected.without_attr("global_symbol"))


def test_reductions_start_outside_of_their_loops() -> None:
    text = str(check(Fallback(), reduction((8,), (0,)), CUDA))
    assert text.index("B_init") < text.index("for ") + 400
    assert "B_update" in text


def test_functions_bound_before_stay() -> None:
    @T.prim_func
    def bound(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):  # type: ignore[no-untyped-def]
        for i in T.thread_binding(8, thread="threadIdx.x"):
            for j in range(1):
                with T.block("B"):
                    vi = T.axis.spatial(8, i + j)
                    B[vi] = A[vi]

    assert Fallback().apply(bound, CUDA, False) is None


def test_only_for_gpus() -> None:
    assert not Fallback().is_target_available(tvm.target.Target("llvm"))
    assert Fallback().apply(elementwise(4), tvm.target.Target("llvm"), False) is None


def test_a_block_with_threads_of_its_own_is_left_alone() -> None:
    x = te.placeholder((2, 3), "float32", "x")
    with Target("cuda"):
        func = te.create_prim_func([x, topi.gpu.sort(x, 1)])
    assert Fallback().apply(func, Target("cuda"), False) is None
