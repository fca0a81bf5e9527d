"""Four dot products of four bytes by the vector instructions of Arm processors.

    C[i] += sum(A[k] * B[i, k] for k in range(4))    for i in range(4)
"""

# What is below is TVMScript: its calls have no types.
# mypy: ignore-errors

from __future__ import annotations

from typing import Final

from tvm.tir.buffer import Buffer
from tvm.tir.expr import PrimExpr
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
from .dots import dot_code, dot_meaning, named

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


def _neon(A: Buffer, B: Buffer, C: Buffer) -> PrimExpr:
    """SMULL makes eight 16-bit products of bytes; SADDLP adds neighbours, ADDP once more."""
    few = named("A_int8", A.vload([0], "int8x4"))
    four = named("re_int32", T.reinterpret("int32", few))
    pair = named("vec_ai32", T.Broadcast(four, 2))
    twice = named("vec_a", T.reinterpret("int8x8", pair))
    rows = named("vec_b", B.vload([0, 0], dtype="int8x16"))

    def of_two_rows(side: str, half: PrimExpr) -> PrimExpr:
        two = named(f"vec_b_{side}", half)
        products = named(f"multiply_{side}", T.call_llvm_pure_intrin(
            "int16x8", "llvm.aarch64.neon.smull.v8i16", twice, two
        ))  # fmt: skip
        return named(f"pairwise_reduction_{side}", T.call_llvm_pure_intrin(
            "int32x4", "llvm.aarch64.neon.saddlp.v4i32.v8i16", products
        ))  # fmt: skip

    low = of_two_rows("low", T.vectorlow("int8x8", rows))
    high = of_two_rows("high", T.vectorhigh("int8x8", rows))
    return C.vload([0], "int32x4") + T.call_llvm_pure_intrin(
        "int32x4", "llvm.aarch64.neon.addp.v4i32", low, high
    )


neon_4x4_i8i8i32_desc: Final = dot_meaning("int8", "int8", "int32", 4, 4)
neon_4x4_i8i8i32_impl: Final = dot_code(neon_4x4_i8i8i32_desc, _neon)


def get_dotprod_intrin(in_dtype: str, out_dtype: str) -> tuple[PrimFunc, PrimFunc]:
    """What four dot products mean, and the instruction SDOT or UDOT that computes them.

    (4,), (4, 4) of `in_dtype` -> (4,) of `out_dtype`
    """
    unsigned = in_dtype == "uint8"
    name = f"llvm.aarch64.neon.{'udot' if unsigned else 'sdot'}.v4i32.v16i8"
    vector, result = f"{in_dtype}x16", f"{out_dtype}x4"

    def compute(A: Buffer, B: Buffer, C: Buffer) -> PrimExpr:
        few = named("A_i8x4", A.vload([0], f"{in_dtype}x4"))
        four = named("A_i32", T.reinterpret("int32", few))
        words = named("vec_ai32", T.Broadcast(four, 4))
        repeated = named("vec_a", T.reinterpret(vector, words))
        rows = named("vec_b", B.vload([0, 0], vector))
        sums = named("vec_c", C.vload([0], result))
        return T.call_llvm_pure_intrin(result, name, sums, repeated, rows)

    desc = dot_meaning(in_dtype, in_dtype, out_dtype, 4, 4)
    return desc, dot_code(desc, compute)


ARM_DOT_4x4_i8_NEON_INTRIN: Final = "dot_4x4_i8i8s32_neon"
ARM_DOT_4x4_i8_SDOT_INTRIN: Final = "dot_4x4_i8i8s32_sdot"
ARM_DOT_4x4_u8_UDOT_INTRIN: Final = "dot_4x4_u8u8u32_udot"
ARM_DOT_4x4_u8_HDOT_INTRIN: Final = "dot_4x4_u8u8i32_hdot"

register_own(
    ARM_DOT_4x4_i8_NEON_INTRIN, lambda: (neon_4x4_i8i8i32_desc, neon_4x4_i8i8i32_impl)
)
register_own(ARM_DOT_4x4_i8_SDOT_INTRIN, get_dotprod_intrin, "int8", "int32")
register_own(ARM_DOT_4x4_u8_UDOT_INTRIN, get_dotprod_intrin, "uint8", "uint32")
register_own(ARM_DOT_4x4_u8_HDOT_INTRIN, get_dotprod_intrin, "uint8", "int32")
