"""Schedules for matrix units, with instructions that stand for themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tvm import tir
from tvm.script import tir as T
from tvm.testing.tir import mfma_schedule, mma_schedule
from tvm.tir import TensorIntrin

pytestmark = pytest.mark.pure
DTYPE = "float16"


def workload(b_transposed: bool, size: int) -> tir.PrimFunc:
    @T.prim_func
    def main(
        A: T.Buffer((size, size), DTYPE),
        B: T.Buffer((size, size), DTYPE),
        C: T.Buffer((size, size), "float32"),
    ):
        for i, j, k in T.grid(size, size, size):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                b = T.meta_var(B[vj, vk] if b_transposed else B[vk, vj])
                C[vi, vj] += T.Cast("float32", A[vi, vk]) * T.Cast("float32", b)

    return main


def register(name: str, func: tir.PrimFunc) -> str:
    TensorIntrin.register(name, func, func, override=True)
    return name


def copy(height: int, width: int, dtype: str, source: str, target: str) -> tir.PrimFunc:
    @T.prim_func
    def func(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (height, width), dtype, scope=source, offset_factor=1,
                           strides=["s0", 1])  # fmt: skip
        B = T.match_buffer(b, (height, width), dtype, scope=target, offset_factor=1,
                           strides=["s1", 1])  # fmt: skip
        with T.block("root"):
            T.reads(A[0:height, 0:width])
            T.writes(B[0:height, 0:width])
            for i, j in T.grid(height, width):
                with T.block("copy"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A[vi, vj]

    return func


def multiply(k_inner: int, b_transposed: bool) -> tir.PrimFunc:
    b_shape = (16, k_inner) if b_transposed else (k_inner, 16)

    @T.prim_func
    def func(a: T.handle, b: T.handle, c: T.handle):
        A = T.match_buffer(a, (16, k_inner), DTYPE, scope="warp", offset_factor=1,
                           strides=["s0", 1])  # fmt: skip
        B = T.match_buffer(b, b_shape, DTYPE, scope="warp", offset_factor=1, strides=["s1", 1])
        C = T.match_buffer(c, (16, 16), "float32", scope="warp", offset_factor=1,
                           strides=["s2", 1])  # fmt: skip
        with T.block("root"):
            T.reads(C[0:16, 0:16], A[0:16, 0:k_inner], B[0 : b_shape[0], 0 : b_shape[1]])
            T.writes(C[0:16, 0:16])
            for i, j, k in T.grid(16, 16, k_inner):
                with T.block("C"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    b_value = T.meta_var(B[vj, vk] if b_transposed else B[vk, vj])
                    C[vi, vj] += T.Cast("float32", A[vi, vk]) * T.Cast("float32", b_value)

    return func


@T.prim_func
def fill(c: T.handle):
    C = T.match_buffer(c, (16, 16), "float32", scope="warp", offset_factor=1, strides=["s0", 1])
    with T.block("root"):
        T.reads()
        T.writes(C[0:16, 0:16])
        for i, j in T.grid(16, 16):
            with T.block("fill"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.float32(0)


def same(i: Any, j: Any) -> tuple[Any, Any]:
    return i, j


def scheduled(
    make: Callable[..., tir.Schedule], b_transposed: bool, size: int, *factors: list[int]
) -> tir.PrimFunc:
    sch = make(
        workload(b_transposed, size), 16, DTYPE, b_transposed, *factors, same, same, same,
        register("test_load_a", copy(16, 16, DTYPE, "shared", "warp")),
        register("test_load_b", copy(16, 16, DTYPE, "shared", "warp")),
        register("test_multiply", multiply(16, b_transposed)),
        register("test_fill", fill),
        register("test_store", copy(16, 16, "float32", "warp", "global")),
    )  # fmt: skip
    func = sch.mod["main"]
    assert isinstance(func, tir.PrimFunc)
    return func


@pytest.mark.parametrize("b_transposed", [False, True])
@pytest.mark.parametrize(("make", "warp"), [(mma_schedule, 32), (mfma_schedule, 64)])
def test_the_work_is_spread(
    make: Callable[..., tir.Schedule], warp: int, b_transposed: bool
) -> None:
    func = scheduled(make, b_transposed, 64, [1, 2, 1, 2, 1], [2, 1, 2, 1, 1], [2, 2, 1])
    text = func.script()
    assert f'T.thread_binding({warp}, thread="threadIdx.x")' in text
    assert 'T.thread_binding(2, thread="threadIdx.y")' in text
    assert ("buffer_dim_align" in text) == (make is mma_schedule)


def test_a_product() -> None:
    func = scheduled(mma_schedule, True, 32, [1, 1, 1, 2, 1], [1, 1, 1, 2, 1], [1, 2, 1])
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, (32, 32)).astype(DTYPE) for _ in range(2))
    c = np.zeros((32, 32), "float32")
    tir.interp.run(func, a, b, c)
    np.testing.assert_array_equal(c, a.astype("float32") @ b.T.astype("float32"))
