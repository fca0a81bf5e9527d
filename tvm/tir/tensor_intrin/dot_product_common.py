"""Dot products of four 8-bit numbers by one instruction of a GPU, `dp4a`."""

# What is below is TVMScript: its annotations are calls, its names are buffers.
# mypy: ignore-errors

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tvm.tir.buffer import Buffer
from tvm.tir.expr import PrimExpr
from tvm.tir.function import PrimFunc
from tvm.tir.intrin_registry import register_own
from tvm.tir.script import language as T


def get_dp4a_intrin(dtype_a: str, dtype_b: str, dtype_c: str) -> tuple[PrimFunc, PrimFunc]:
    """What `c += a . b` means for vectors of four in shared memory, and the call that does it."""
    vector = "uint8x4" if dtype_a == "uint8" else "int8x4"
    other = "uint8x4" if dtype_b == "uint8" else "int8x4"

    @T.prim_func
    def dp4a_desc(
        A: T.Buffer((4,), dtype_a, offset_factor=1, align=4, scope="shared"),
        B: T.Buffer((4,), dtype_b, offset_factor=1, align=4, scope="shared"),
        C: T.Buffer((1,), dtype_c, offset_factor=1, align=4, scope="local"),
    ) -> None:
        with T.block("root"):
            T.reads(C[0], A[0:4], B[0:4])
            T.writes(C[0])
            for i in range(0, 4):
                with T.block("update"):
                    vi = T.axis.remap("R", [i])
                    C[0] = C[0] + T.cast(A[vi], dtype_c) * T.cast(B[vi], dtype_c)

    def call(A: Buffer, B: Buffer) -> PrimExpr:
        return T.call_pure_extern(
            dtype_c, "__dp4a", A.vload([0], vector), B.vload([0], other), T.cast(0, dtype_c)
        )

    return dp4a_desc, dp4a_code(dtype_a, dtype_b, dtype_c, call)


def dp4a_code(
    dtype_a: str, dtype_b: str, dtype_c: str, call: Callable[[Buffer, Buffer], PrimExpr]
) -> PrimFunc:
    """The program that adds a value computed of A and B to C."""

    @T.prim_func
    def dp4a_impl(
        A: T.Buffer((4,), dtype_a, offset_factor=1, align=4, scope="shared"),
        B: T.Buffer((4,), dtype_b, offset_factor=1, align=4, scope="shared"),
        C: T.Buffer((1,), dtype_c, offset_factor=1, align=4, scope="local"),
    ) -> None:
        with T.block("root"):
            T.reads(C[0], A[0:4], B[0:4])
            T.writes(C[0])
            C[0] += call(A, B)

    return dp4a_impl


DP4A_S8S8S32_INTRIN: Final = "dp4a_s8s8s32"
DP4A_S8U8S32_INTRIN: Final = "dp4a_s8u8s32"
DP4A_U8S8S32_INTRIN: Final = "dp4a_u8s8s32"
DP4A_U8U8U32_INTRIN: Final = "dp4a_u8u8u32"

register_own(DP4A_S8S8S32_INTRIN, get_dp4a_intrin, "int8", "int8", "int32")
register_own(DP4A_S8U8S32_INTRIN, get_dp4a_intrin, "int8", "uint8", "int32")
register_own(DP4A_U8S8S32_INTRIN, get_dp4a_intrin, "uint8", "int8", "int32")
register_own(DP4A_U8U8U32_INTRIN, get_dp4a_intrin, "uint8", "uint8", "uint32")
