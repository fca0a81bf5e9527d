"""Sixteen dot products of four bytes by the vector instructions of x86 processors.

    C[i] += sum(A[k] * B[i, k] for k in range(4))    for i in range(16);    A: uint8, B: int8
"""

# What is below is TVMScript: its calls have no types.
# mypy: ignore-errors

from __future__ import annotations

from typing import Final

from tvm.tir.buffer import Buffer
from tvm.tir.expr import PrimExpr
from tvm.tir.intrin_registry import register_own
from tvm.tir.script import language as T

from .dots import dot_code, dot_meaning, named


def _vnni(A: Buffer, B: Buffer, C: Buffer) -> PrimExpr:
    """Intel's manual, VPDPBUSD: multiplies groups of four bytes and adds them to 32-bit lanes."""
    few = named("A_u8x4", A.vload([0], "uint8x4"))
    four = named("A_i32", T.reinterpret("int32", few))
    rows = named("B_i8x64", B.vload([0, 0], dtype="int8x64"))
    weights = named("B_i32x16", T.reinterpret("int32x16", rows))
    sums = named("C_i32x16", C.vload([0], "int32x16"))
    return T.call_llvm_pure_intrin(
        "int32x16", "llvm.x86.avx512.vpdpbusd.512", sums, T.Broadcast(four, 16), weights
    )


def _avx512(A: Buffer, B: Buffer, C: Buffer) -> PrimExpr:
    """VPMADDUBSW adds pairs of byte products in 16 bits (saturating), VPMADDWD those in 32."""
    few = named("A_u8x4", A.vload([0], "uint8x4"))
    four = named("A_i32", T.reinterpret("int32", few))
    words = named("A_brdcst", T.Broadcast(four, 16))
    repeated = named("A_u8x64", T.reinterpret("uint8x64", words))
    rows = named("B_i8x64", B.vload([0, 0], dtype="int8x64"))
    pairs = named("Red", T.call_llvm_pure_intrin(
        "int16x32", "llvm.x86.avx512.pmaddubs.w.512", repeated, rows
    ))  # fmt: skip
    return C.vload([0], "int32x16") + T.call_llvm_pure_intrin(
        "int32x16", "llvm.x86.avx512.pmaddw.d.512", pairs, T.Broadcast(T.int16(1), 32)
    )


dot_product_16x4_u8i8i32_desc: Final = dot_meaning("uint8", "int8", "int32", 16, 4)
dot_product_16x4_u8i8i32_vnni: Final = dot_code(dot_product_16x4_u8i8i32_desc, _vnni)
dot_product_16x4_u8i8i32_avx512: Final = dot_code(dot_product_16x4_u8i8i32_desc, _avx512)

VNNI_DOT_16x4_INTRIN: Final = "dot_16x4_vnni"
AVX512_DOT_16x4_INTRIN: Final = "dot_16x4_avx512"

register_own(
    VNNI_DOT_16x4_INTRIN,
    lambda: (dot_product_16x4_u8i8i32_desc, dot_product_16x4_u8i8i32_vnni),
)
register_own(
    AVX512_DOT_16x4_INTRIN,
    lambda: (dot_product_16x4_u8i8i32_desc, dot_product_16x4_u8i8i32_avx512),
)
