"""Sixteen dot products of four bytes by the vector instructions of x86 processors.

    C[i] += sum(A[k] * B[i, k] for k in range(4))    for i in range(16);    A: uint8, B: int8
"""

# What is below is TVMScript: its annotations are calls, its names are buffers.
# mypy: ignore-errors

from __future__ import annotations

from typing import Final

from tvm.tir.intrin_registry import register_own
from tvm.tir.script import language as T


@T.prim_func
def dot_product_16x4_u8i8i32_desc(
    A: T.Buffer((4,), "uint8", offset_factor=1),
    B: T.Buffer((16, 4), "int8", offset_factor=1),
    C: T.Buffer((16,), "int32", offset_factor=1),
) -> None:
    with T.block("root"):
        T.reads(C[0:16], A[0:4], B[0:16, 0:4])
        T.writes(C[0:16])
        for i in T.serial(0, 16):
            for k in T.serial(0, 4):
                with T.block("update"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    C[vi] = C[vi] + T.cast(A[vk], "int32") * T.cast(B[vi, vk], "int32")


# Intel's manual, VPDPBUSD: multiplies groups of four bytes and adds them to 32-bit lanes.
@T.prim_func
def dot_product_16x4_u8i8i32_vnni(
    A: T.Buffer((4,), "uint8", offset_factor=1),
    B: T.Buffer((16, 4), "int8", offset_factor=1),
    C: T.Buffer((16,), "int32", offset_factor=1),
) -> None:
    with T.block("root"):
        T.reads(C[0:16], A[0:4], B[0:16, 0:4])
        T.writes(C[0:16])
        four = T.meta_var(T.reinterpret("int32", A.vload([0], "uint8x4")))
        weights = T.meta_var(T.reinterpret("int32x16", B.vload([0, 0], dtype="int8x64")))
        C[T.Ramp(T.int32(0), 1, 16)] = T.call_llvm_pure_intrin(
            "int32x16",
            "llvm.x86.avx512.vpdpbusd.512",
            C.vload([0], "int32x16"),
            T.Broadcast(four, 16),
            weights,
        )


# VPMADDUBSW adds pairs of byte products in 16 bits (it saturates), VPMADDWD pairs of those in 32.
@T.prim_func
def dot_product_16x4_u8i8i32_avx512(
    A: T.Buffer((4,), "uint8", offset_factor=1),
    B: T.Buffer((16, 4), "int8", offset_factor=1),
    C: T.Buffer((16,), "int32", offset_factor=1),
) -> None:
    with T.block("root"):
        T.reads(C[0:16], A[0:4], B[0:16, 0:4])
        T.writes(C[0:16])
        four = T.meta_var(T.reinterpret("int32", A.vload([0], "uint8x4")))
        repeated = T.meta_var(T.reinterpret("int8x64", T.Broadcast(four, 16)))
        pairs = T.meta_var(
            T.call_llvm_pure_intrin(
                "int16x32",
                "llvm.x86.avx512.pmaddubs.w.512",
                repeated,
                B.vload([0, 0], dtype="int8x64"),
            )
        )
        C[T.Ramp(T.int32(0), 1, 16)] += T.call_llvm_pure_intrin(
            "int32x16",
            "llvm.x86.avx512.pmaddw.d.512",
            pairs,
            T.Broadcast(T.int16(1), 32),
        )


VNNI_DOT_16x4_INTRIN: Final = "dot_16x4_vnni"
AVX512_DOT_16x4_INTRIN: Final = "dot_16x4_avx512"

register_own(
    VNNI_DOT_16x4_INTRIN, dot_product_16x4_u8i8i32_desc, dot_product_16x4_u8i8i32_vnni
)
register_own(
    AVX512_DOT_16x4_INTRIN, dot_product_16x4_u8i8i32_desc, dot_product_16x4_u8i8i32_avx512
)
