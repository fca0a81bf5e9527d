"""What AMD's matrix intrinsics mean for single threads; products: tests of the intrinsics."""

from __future__ import annotations

import numpy as np
import pytest

from tvm.error import TVMError
from tvm.script import tir as T
from tvm.tir import interp

pytestmark = pytest.mark.pure


def test_a_product_of_ones() -> None:
    @T.prim_func
    def func(A: T.Buffer((64,), "float32"), C: T.Buffer((64, 4), "float32")):
        tx = T.launch_thread("threadIdx.x", 64)
        C[tx, 0:4] = T.call_llvm_pure_intrin(
            "float32x4", "llvm.amdgcn.mfma.f32.16x16x4f32", A[tx], T.float32(1), C[tx, 0:4], 0, 0, 0
        )

    a, c = np.arange(64, dtype="float32"), np.ones((64, 4), "float32")
    interp.run(func, a, c)
    rows = a.reshape(4, 16).sum(0)  # thread t has A[t % 16, t // 16]
    for t in range(64):
        np.testing.assert_array_equal(c[t], 1 + rows[t // 16 * 4 : t // 16 * 4 + 4])


def test_a_part_of_a_wavefront() -> None:
    @T.prim_func
    def func(C: T.Buffer((64, 4), "float32")):
        tx = T.launch_thread("threadIdx.x", 32)
        C[tx, 0:4] = T.call_llvm_pure_intrin(
            "float32x4", "llvm.amdgcn.mfma.f32.16x16x4f32", T.float32(1), T.float32(1), C[tx, 0:4],
            0, 0, 0,
        )  # fmt: skip

    with pytest.raises(TVMError, match="found: 32 of 64 threads of a warp"):
        interp.run(func, np.ones((64, 4), "float32"))


@pytest.mark.parametrize(("clamp", "expected"), [(True, 2**31 - 1), (False, -(2**31) + 3)])
def test_sdot4(clamp: bool, expected: int) -> None:
    @T.prim_func
    def func(C: T.Buffer((1,), "int32")):
        C[0] = T.call_llvm_pure_intrin(
            "int32", "llvm.amdgcn.sdot4", 0x01010101, 0x01010101, T.int32(2**31 - 1), clamp
        )

    c = np.zeros(1, "int32")
    interp.run(func, c)
    assert c[0] == expected
