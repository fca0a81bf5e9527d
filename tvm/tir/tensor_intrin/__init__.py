"""Tensor intrinsics of processors: each file registers those of one kind of hardware."""

from tvm.tir.intrin_registry import INTRINSICS, TensorIntrin

from .arm_cpu import (
    ARM_SME_INIT,
    ARM_DOT_4x4_i8_NEON_INTRIN,
    ARM_DOT_4x4_i8_SDOT_INTRIN,
    ARM_DOT_4x4_u8_HDOT_INTRIN,
    ARM_DOT_4x4_u8_UDOT_INTRIN,
    ARM_SME_2SVLx2SVL_FP32_TRANSPOSE_INTERLEAVE,
    ARM_SME_2SVLx2SVL_GEMM_INTERLEAVED_MOPA,
    ARM_SME_BLOCK2_2SVLx1SVL_FP16_TRANSPOSE_INTERLEAVE,
)
from .cuda import get_mma_intrin_group, get_wmma_intrin_group
from .dot_product_common import (
    DP4A_S8S8S32_INTRIN,
    DP4A_S8U8S32_INTRIN,
    DP4A_U8S8S32_INTRIN,
    DP4A_U8U8U32_INTRIN,
)
from .hexagon import (
    DMA_READ_128_i8,
    DMA_READ_128_u8,
    VDMPY_i16i16i32_INTRIN,
    VRMPY_u8i8i32_INTRIN,
    VRMPY_u8i8i32_VTCM_INTRIN,
    VRMPY_u8u8i32_INTRIN,
    VRMPY_u8u8i32_VTCM_INTRIN,
)
from .metal import get_simdgroup_intrin_group
from .riscv_cpu import register_riscv_intrinsics, register_rvv_isa_intrinsics
from .rocm import AMDGPU_SDOT4_INTRIN
from .x86 import AVX512_DOT_16x4_INTRIN, VNNI_DOT_16x4_INTRIN

__all__ = [
    "AMDGPU_SDOT4_INTRIN",
    "ARM_DOT_4x4_i8_NEON_INTRIN", "ARM_DOT_4x4_i8_SDOT_INTRIN", "ARM_DOT_4x4_u8_HDOT_INTRIN",
    "ARM_DOT_4x4_u8_UDOT_INTRIN", "ARM_SME_2SVLx2SVL_FP32_TRANSPOSE_INTERLEAVE",
    "ARM_SME_2SVLx2SVL_GEMM_INTERLEAVED_MOPA",
    "ARM_SME_BLOCK2_2SVLx1SVL_FP16_TRANSPOSE_INTERLEAVE", "ARM_SME_INIT",
    "AVX512_DOT_16x4_INTRIN", "DMA_READ_128_i8", "DMA_READ_128_u8",
    "DP4A_S8S8S32_INTRIN", "DP4A_S8U8S32_INTRIN", "DP4A_U8S8S32_INTRIN", "DP4A_U8U8U32_INTRIN",
    "INTRINSICS", "TensorIntrin", "VDMPY_i16i16i32_INTRIN", "VNNI_DOT_16x4_INTRIN",
    "VRMPY_u8i8i32_INTRIN", "VRMPY_u8i8i32_VTCM_INTRIN", "VRMPY_u8u8i32_INTRIN",
    "VRMPY_u8u8i32_VTCM_INTRIN", "register_riscv_intrinsics", "register_rvv_isa_intrinsics",
    "get_simdgroup_intrin_group",
    "get_mma_intrin_group",
    "get_wmma_intrin_group",
]  # fmt: skip
