"""Four dot products of four bytes by the vector instructions of Arm processors.

    C[i] += sum(A[k] * B[i, k] for k in range(4))    for i in range(4)
"""

# What is below is TVMScript: its annotations are calls, its names are buffers.
# mypy: ignore-errors

from __future__ import annotations

from typing import Final

from tvm.tir.function import PrimFunc
from tvm.tir.intrin_registry import register_own
from tvm.tir.script import language as T

from .arm_sme import (
    ARM_SME_INIT,
    ARM_SME_2SVLx2SVL_FP32_TRANSPOSE_INTERLEAVE,
    ARM_SME_2SVLx2SVL_GEMM_INTERLEAVED_MOPA,
    ARM_SME_BLOCK2_2SVLx1SVL_FP16_TRANSPOSE_INTERLEAVE,
    get_sme_gemm_interleaved_mopa_2svlx2svl_intrin,
    get_sme_init_intrin,
    get_sme_transpose_interleave_2svlx2svl_fp32_intrin,
    get_sme_transpose_interleave_block2_2svl_fp16_intrin,
    get_transpose_interleave_intrin_name,
)
from .dot_product_common import (
    DP4A_S8S8S32_INTRIN,
    DP4A_S8U8S32_INTRIN,
    DP4A_U8S8S32_INTRIN,
    DP4A_U8U8U32_INTRIN,
)

__all__ = [
    "ARM_DOT_4x4_i8_NEON_INTRIN", "ARM_DOT_4x4_i8_SDOT_INTRIN", "ARM_DOT_4x4_u8_HDOT_INTRIN",
    "ARM_DOT_4x4_u8_UDOT_INTRIN", "ARM_SME_2SVLx2SVL_FP32_TRANSPOSE_INTERLEAVE",
    "ARM_SME_2SVLx2SVL_GEMM_INTERLEAVED_MOPA",
    "ARM_SME_BLOCK2_2SVLx1SVL_FP16_TRANSPOSE_INTERLEAVE", "ARM_SME_INIT", "DP4A_S8S8S32_INTRIN",
    "DP4A_S8U8S32_INTRIN", "DP4A_U8S8S32_INTRIN", "DP4A_U8U8U32_INTRIN", "get_dotprod_intrin",
    "get_sme_gemm_interleaved_mopa_2svlx2svl_intrin", "get_sme_init_intrin",
    "get_sme_transpose_interleave_2svlx2svl_fp32_intrin",
    "get_sme_transpose_interleave_block2_2svl_fp16_intrin",
    "get_transpose_interleave_intrin_name", "neon_4x4_i8i8i32_desc", "neon_4x4_i8i8i32_impl",
]  # fmt: skip


@T.prim_func
def neon_4x4_i8i8i32_desc(
    A: T.Buffer((4,), "int8", offset_factor=1),
    B: T.Buffer((4, 4), "int8", offset_factor=1),
    C: T.Buffer((4,), "int32", offset_factor=1),
) -> None:
    with T.block("root"):
        T.reads(C[0:4], A[0:4], B[0:4, 0:4])
        T.writes(C[0:4])
        for i in T.serial(0, 4):
            for k in T.serial(0, 4):
                with T.block("update"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    C[vi] = C[vi] + T.cast(A[vk], "int32") * T.cast(B[vi, vk], "int32")


# SMULL multiplies eight bytes to eight 16-bit products; SADDLP adds neighbours, ADDP once more.
@T.prim_func
def neon_4x4_i8i8i32_impl(
    A: T.Buffer((4,), "int8", offset_factor=1),
    B: T.Buffer((4, 4), "int8", offset_factor=1),
    C: T.Buffer((4,), "int32", offset_factor=1),
) -> None:
    with T.block("root"):
        T.reads(C[0:4], A[0:4], B[0:4, 0:4])
        T.writes(C[0:4])
        four = T.meta_var(T.reinterpret("int32", A.vload([0], "int8x4")))
        twice = T.meta_var(T.reinterpret("int8x8", T.Broadcast(four, 2)))
        low = T.meta_var(
            T.call_llvm_pure_intrin(
                "int32x4",
                "llvm.aarch64.neon.saddlp.v4i32.v8i16",
                T.call_llvm_pure_intrin(
                    "int16x8",
                    "llvm.aarch64.neon.smull.v8i16",
                    twice,
                    B.vload([0, 0], dtype="int8x8"),
                ),
            )
        )
        high = T.meta_var(
            T.call_llvm_pure_intrin(
                "int32x4",
                "llvm.aarch64.neon.saddlp.v4i32.v8i16",
                T.call_llvm_pure_intrin(
                    "int16x8",
                    "llvm.aarch64.neon.smull.v8i16",
                    twice,
                    B.vload([2, 0], dtype="int8x8"),
                ),
            )
        )
        C[T.Ramp(T.int32(0), 1, 4)] += T.call_llvm_pure_intrin(
            "int32x4", "llvm.aarch64.neon.addp.v4i32", low, high
        )


def get_dotprod_intrin(in_dtype: str, out_dtype: str) -> tuple[PrimFunc, PrimFunc]:
    """What four dot products mean, and the instruction SDOT or UDOT that computes them.

    (4,), (4, 4) of `in_dtype` -> (4,) of `out_dtype`
    """
    unsigned = in_dtype == "uint8"
    name = f"llvm.aarch64.neon.{'udot' if unsigned else 'sdot'}.v4i32.v16i8"
    four_of, vector = f"{in_dtype}x4", f"{in_dtype}x16"
    result = f"{out_dtype}x4"

    @T.prim_func
    def dot_prod_desc(
        A: T.Buffer((4,), in_dtype, offset_factor=1),
        B: T.Buffer((4, 4), in_dtype, offset_factor=1),
        C: T.Buffer((4,), out_dtype, offset_factor=1),
    ) -> None:
        with T.block("root"):
            T.reads(C[0:4], A[0:4], B[0:4, 0:4])
            T.writes(C[0:4])
            for i in T.serial(0, 4):
                for k in T.serial(0, 4):
                    with T.block("update"):
                        vi, vk = T.axis.remap("SR", [i, k])
                        C[vi] = C[vi] + T.cast(A[vk], out_dtype) * T.cast(B[vi, vk], out_dtype)

    @T.prim_func
    def dot_prod_impl(
        A: T.Buffer((4,), in_dtype, offset_factor=1),
        B: T.Buffer((4, 4), in_dtype, offset_factor=1),
        C: T.Buffer((4,), out_dtype, offset_factor=1),
    ) -> None:
        with T.block("root"):
            T.reads(C[0:4], A[0:4], B[0:4, 0:4])
            T.writes(C[0:4])
            four = T.meta_var(T.reinterpret("int32", A.vload([0], four_of)))
            repeated = T.meta_var(T.reinterpret(vector, T.Broadcast(four, 4)))
            C[T.Ramp(T.int32(0), 1, 4)] = T.call_llvm_pure_intrin(
                result, name, C.vload([0], result), repeated, B.vload([0, 0], vector)
            )

    return dot_prod_desc, dot_prod_impl


ARM_DOT_4x4_i8_NEON_INTRIN: Final = "dot_4x4_i8i8s32_neon"
ARM_DOT_4x4_i8_SDOT_INTRIN: Final = "dot_4x4_i8i8s32_sdot"
ARM_DOT_4x4_u8_UDOT_INTRIN: Final = "dot_4x4_u8u8u32_udot"
ARM_DOT_4x4_u8_HDOT_INTRIN: Final = "dot_4x4_u8u8i32_hdot"

register_own(ARM_DOT_4x4_i8_NEON_INTRIN, neon_4x4_i8i8i32_desc, neon_4x4_i8i8i32_impl)
register_own(ARM_DOT_4x4_i8_SDOT_INTRIN, *get_dotprod_intrin("int8", "int32"))
register_own(ARM_DOT_4x4_u8_UDOT_INTRIN, *get_dotprod_intrin("uint8", "uint32"))
register_own(ARM_DOT_4x4_u8_HDOT_INTRIN, *get_dotprod_intrin("uint8", "int32"))
