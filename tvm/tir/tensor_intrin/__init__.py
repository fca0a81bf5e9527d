"""Tensor intrinsics of processors: each file registers those of one kind of hardware.

The files load when one of their names, or an intrinsic that is not known yet, is asked for.
"""

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_dir, lazy_names
from tvm.tir.intrin_registry import INTRINSICS, TensorIntrin

_HOMES = {
    name: f"tvm.tir.tensor_intrin.{home}:{name}"
    for home, names in {
        "arm_cpu": (
            "ARM_SME_INIT",
            "ARM_DOT_4x4_i8_NEON_INTRIN",
            "ARM_DOT_4x4_i8_SDOT_INTRIN",
            "ARM_DOT_4x4_u8_HDOT_INTRIN",
            "ARM_DOT_4x4_u8_UDOT_INTRIN",
            "ARM_SME_2SVLx2SVL_FP32_TRANSPOSE_INTERLEAVE",
            "ARM_SME_2SVLx2SVL_GEMM_INTERLEAVED_MOPA",
            "ARM_SME_BLOCK2_2SVLx1SVL_FP16_TRANSPOSE_INTERLEAVE",
        ),
        "cuda": (
            "get_mma_intrin_group",
            "get_wmma_intrin_group",
        ),
        "dot_product_common": (
            "DP4A_S8S8S32_INTRIN",
            "DP4A_S8U8S32_INTRIN",
            "DP4A_U8S8S32_INTRIN",
            "DP4A_U8U8U32_INTRIN",
        ),
        "hexagon": (
            "DMA_READ_128_i8",
            "DMA_READ_128_u8",
            "VDMPY_i16i16i32_INTRIN",
            "VRMPY_u8i8i32_INTRIN",
            "VRMPY_u8i8i32_VTCM_INTRIN",
            "VRMPY_u8u8i32_INTRIN",
            "VRMPY_u8u8i32_VTCM_INTRIN",
        ),
        "metal": ("get_simdgroup_intrin_group",),
        "riscv_cpu": (
            "register_riscv_intrinsics",
            "register_rvv_isa_intrinsics",
        ),
        "rocm": ("AMDGPU_SDOT4_INTRIN",),
        "x86": (
            "AVX512_DOT_16x4_INTRIN",
            "VNNI_DOT_16x4_INTRIN",
        ),
    }.items()
    for name in names
}

if TYPE_CHECKING:
    from .arm_cpu import ARM_SME_INIT as ARM_SME_INIT
    from .arm_cpu import ARM_DOT_4x4_i8_NEON_INTRIN as ARM_DOT_4x4_i8_NEON_INTRIN
    from .arm_cpu import ARM_DOT_4x4_i8_SDOT_INTRIN as ARM_DOT_4x4_i8_SDOT_INTRIN
    from .arm_cpu import ARM_DOT_4x4_u8_HDOT_INTRIN as ARM_DOT_4x4_u8_HDOT_INTRIN
    from .arm_cpu import ARM_DOT_4x4_u8_UDOT_INTRIN as ARM_DOT_4x4_u8_UDOT_INTRIN
    from .arm_cpu import (
        ARM_SME_2SVLx2SVL_FP32_TRANSPOSE_INTERLEAVE as ARM_SME_2SVLx2SVL_FP32_TRANSPOSE_INTERLEAVE,
    )
    from .arm_cpu import (
        ARM_SME_2SVLx2SVL_GEMM_INTERLEAVED_MOPA as ARM_SME_2SVLx2SVL_GEMM_INTERLEAVED_MOPA,
    )
    from .arm_cpu import (
        ARM_SME_BLOCK2_2SVLx1SVL_FP16_TRANSPOSE_INTERLEAVE as ARM_SME_BLOCK2_2SVLx1SVL_FP16_TRANSPOSE_INTERLEAVE,  # noqa: E501
    )
    from .cuda import get_mma_intrin_group as get_mma_intrin_group
    from .cuda import get_wmma_intrin_group as get_wmma_intrin_group
    from .dot_product_common import DP4A_S8S8S32_INTRIN as DP4A_S8S8S32_INTRIN
    from .dot_product_common import DP4A_S8U8S32_INTRIN as DP4A_S8U8S32_INTRIN
    from .dot_product_common import DP4A_U8S8S32_INTRIN as DP4A_U8S8S32_INTRIN
    from .dot_product_common import DP4A_U8U8U32_INTRIN as DP4A_U8U8U32_INTRIN
    from .hexagon import DMA_READ_128_i8 as DMA_READ_128_i8
    from .hexagon import DMA_READ_128_u8 as DMA_READ_128_u8
    from .hexagon import VDMPY_i16i16i32_INTRIN as VDMPY_i16i16i32_INTRIN
    from .hexagon import VRMPY_u8i8i32_INTRIN as VRMPY_u8i8i32_INTRIN
    from .hexagon import VRMPY_u8i8i32_VTCM_INTRIN as VRMPY_u8i8i32_VTCM_INTRIN
    from .hexagon import VRMPY_u8u8i32_INTRIN as VRMPY_u8u8i32_INTRIN
    from .hexagon import VRMPY_u8u8i32_VTCM_INTRIN as VRMPY_u8u8i32_VTCM_INTRIN
    from .metal import get_simdgroup_intrin_group as get_simdgroup_intrin_group
    from .riscv_cpu import register_riscv_intrinsics as register_riscv_intrinsics
    from .riscv_cpu import register_rvv_isa_intrinsics as register_rvv_isa_intrinsics
    from .rocm import AMDGPU_SDOT4_INTRIN as AMDGPU_SDOT4_INTRIN
    from .x86 import AVX512_DOT_16x4_INTRIN as AVX512_DOT_16x4_INTRIN
    from .x86 import VNNI_DOT_16x4_INTRIN as VNNI_DOT_16x4_INTRIN
else:
    __getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["INTRINSICS", "TensorIntrin", *_HOMES]
__dir__ = lazy_dir(__name__, *_HOMES)
