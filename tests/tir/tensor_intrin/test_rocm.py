"""Products by mfma: what they mean, their HIP text; dot products by sdot4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm
from tests.tir.tensor_intrin.products import arrays, matmul, tiled
from tvm import tir
from tvm.error import TVMError
from tvm.script import tir as T
from tvm.testing.tir import mfma_schedule
from tvm.tir.interp import run
from tvm.tir.tensor_intrin import rocm

pytestmark = pytest.mark.pure

STEPS = {
    "float32": (4, "float32", rocm.shared_16x4_to_local_64x1_layout_A,
                rocm.shared_4x16_to_local_64x1_layout_B,
                rocm.ROCM_MFMA_LOAD_16x4_A_SHARED_f32_INTRIN,
                rocm.ROCM_MFMA_LOAD_16x4_B_SHARED_f32_INTRIN, rocm.ROCM_MFMA_f32f32f32_INTRIN,
                rocm.ROCM_MFMA_fill_16x16_f32_INTRIN, rocm.ROCM_MFMA_STORE_16x16_f32_INTRIN),
    "float16": (16, "float32", rocm.shared_16x16_to_local_64x4_layout_A,
                rocm.shared_16x16_to_local_64x4_layout_B,
                rocm.ROCM_MFMA_LOAD_16x16_A_SHARED_f16_INTRIN,
                rocm.ROCM_MFMA_LOAD_16x16_B_SHARED_f16_INTRIN, rocm.ROCM_MFMA_f16f16f32_INTRIN,
                rocm.ROCM_MFMA_fill_16x16_f32_INTRIN, rocm.ROCM_MFMA_STORE_16x16_f32_INTRIN),
    "int8": (16, "int32", rocm.shared_16x16_to_local_64x4_layout_A,
             rocm.shared_16x16_to_local_64x4_layout_B,
             rocm.ROCM_MFMA_LOAD_16x16_A_SHARED_s8_INTRIN,
             rocm.ROCM_MFMA_LOAD_16x16_B_SHARED_s8_INTRIN, rocm.ROCM_MFMA_s8s8s32_INTRIN,
             rocm.ROCM_MFMA_fill_16x16_i32_INTRIN, rocm.ROCM_MFMA_STORE_16x16_s32_INTRIN),
}  # fmt: skip
BUILTINS = {
    "float32": "__builtin_amdgcn_mfma_f32_16x16x4f32(",
    "float16": "__builtin_amdgcn_mfma_f32_16x16x16f16((*(amd_float16x4*)(&",
    "int8": "__builtin_amdgcn_mfma_i32_16x16x16i8((*(int*)(&",
}


@pytest.mark.parametrize("dtype", list(STEPS))
def test_a_product(dtype: str) -> None:
    k, out, a_layout, b_layout, *names = STEPS[dtype]
    size = 64 if dtype == "int8" else 32
    k_factors = [1, size // k, 1]
    sch = mfma_schedule(
        matmul(32, 32, size, dtype, out, False), k, dtype, False, [1, 1, 1, 2, 1], [1, 1, 2, 1, 1],
        k_factors, tiled(a_layout, 16, k), tiled(b_layout, k, 16),
        tiled(rocm.shared_16x16_to_local_64x4_layout_C, 16, 16), *names,
    )  # fmt: skip
    func = sch.mod["main"]
    assert isinstance(func, tir.PrimFunc)
    given, expected = arrays(32, 32, size, dtype, out, False)
    run(func, *given)
    np.testing.assert_array_equal(given[2], expected)
    text = tvm.compile(func, "rocm").mod.imports[0].inspect_source()
    assert BUILTINS[dtype] in text


@pytest.mark.parametrize(
    ("there", "back", "rows", "columns"),
    [
        (rocm.shared_16x4_to_local_64x1_layout_A,
         rocm.thread_id_shared_access_64x1_to_16x4_layout_A, 16, 4),
        (rocm.shared_4x16_to_local_64x1_layout_B,
         rocm.thread_id_shared_access_64x1_to_4x16_layout_B, 4, 16),
        (rocm.shared_16x16_to_local_64x4_layout_A,
         rocm.thread_id_shared_access_64x4_to_16x16_layout_A, 16, 16),
        (rocm.shared_16x16_to_local_64x4_layout_B,
         rocm.thread_id_shared_access_64x4_to_16x16_layout_B, 16, 16),
        (rocm.shared_16x16_to_local_64x4_layout_C,
         rocm.thread_id_shared_access_64x4_to_16x16_layout_C, 16, 16),
    ],
)  # fmt: skip
def test_layouts(
    there: Callable[..., Any], back: Callable[..., Any], rows: int, columns: int
) -> None:
    for i in range(rows):
        for j in range(columns):
            thread, own = there(i, j)
            assert back(thread, int(own)) == (i, j)


@T.prim_func
def dot(A: T.Buffer((4, 4), "int8"), B: T.Buffer((4, 4), "int8"), C: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.block("root"):
            vi = T.axis.spatial(4, i)
            A_shared = T.alloc_buffer((4,), "int8", scope="shared")
            B_shared = T.alloc_buffer((4,), "int8", scope="shared")
            C_local = T.alloc_buffer((1,), "int32", scope="local")
            for k in range(4):
                with T.block("load"):
                    vk = T.axis.spatial(4, k)
                    A_shared[vk] = A[vi, vk]
                    B_shared[vk] = B[vi, vk]
            with T.block("zero"):
                C_local[0] = 0
            for k in range(4):
                with T.block("dot"):
                    vk = T.axis.reduce(4, k)
                    C_local[0] = C_local[0] + T.Cast("int32", A_shared[vk]) * T.Cast(
                        "int32", B_shared[vk]
                    )
            with T.block("store"):
                C[vi] = C_local[0]


def test_sdot4() -> None:
    sch = tir.Schedule(dot)
    sch.tensorize(sch.get_loops(sch.get_block("dot"))[-1], rocm.AMDGPU_SDOT4_INTRIN)
    assert "llvm.amdgcn.sdot4" in sch.mod["main"].script()
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-128, 128, (4, 4)).astype("int8") for _ in range(2))
    c = np.zeros(4, "int32")
    run(sch.mod["main"], a, b, c)
    np.testing.assert_array_equal(c, (a.astype("int32") * b).sum(1))


def test_what_is_refused() -> None:
    with pytest.raises(TVMError, match="k_dim=8"):
        rocm.get_mfma_load_intrin(8)
