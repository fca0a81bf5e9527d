"""Dot products by the vectors of Hexagon processors, and copies into their close memory.

    C[i] += sum(A[k] * B[i, k] for k in range(4))    for i in range(32)
"""

# What is below is TVMScript: its annotations are calls, its names are buffers.
# mypy: ignore-errors

from __future__ import annotations

from typing import Final

from tvm.tir.buffer import Buffer
from tvm.tir.expr import PrimExpr
from tvm.tir.function import PrimFunc
from tvm.tir.intrin_registry import register_own
from tvm.tir.script import language as T

from .dots import dot_code, dot_meaning, named


def generate_dma_load_intrin(size: int, dtype: str) -> tuple[PrimFunc, PrimFunc]:
    """A copy of `size` elements into VTCM, and the transfer that does it and waits for it."""

    @T.prim_func
    def sync_dma_load_desc(a: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (size,), dtype, offset_factor=1, scope="global")
        C = T.match_buffer(c, (size,), dtype, offset_factor=1, scope="global.vtcm")
        with T.block("root"):
            T.reads(A[0:size])
            T.writes(C[0:size])
            for i in T.serial(size):
                with T.block("load"):
                    vi = T.axis.remap("S", [i])
                    C[vi] = A[vi]

    @T.prim_func
    def sync_dma_load_impl(a: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (size,), dtype, offset_factor=1, scope="global")
        C = T.match_buffer(c, (size,), dtype, offset_factor=1, scope="global.vtcm")
        with T.block("root"):
            T.reads(A[0:size])
            T.writes(C[0:size])
            T.evaluate(
                T.tvm_call_packed(
                    "device_api.hexagon.dma_copy_dltensor",
                    T.tvm_stack_make_array(
                        T.address_of(C[0]), T.tvm_stack_make_shape(size), 0, 1, T.cast(0, dtype), 0
                    ),
                    T.tvm_stack_make_array(
                        T.address_of(A[0]), T.tvm_stack_make_shape(size), 0, 1, T.cast(0, dtype), 0
                    ),
                    T.cast(size, "int32"),
                    T.bool(False),  # the cache is not bypassed
                )
            )

    return sync_dma_load_desc, sync_dma_load_impl


def _dot_product(
    a_dtype: str, b_dtype: str, length: int, instruction: str, mem_scope: str
) -> tuple[PrimFunc, PrimFunc]:
    """32 dot products of `length` numbers of 32 bits together, and the instruction for them."""

    def compute(A: Buffer, B: Buffer, C: Buffer) -> PrimExpr:
        few = named("A_few", A.vload([0], f"{a_dtype}x{length}"))
        word = named("A_i32", T.reinterpret("int32", few))
        rows = named("B_rows", B.vload([0, 0], dtype=f"{b_dtype}x{32 * length}"))
        weights = named("B_i32x32", T.reinterpret("int32x32", rows))
        sums = C.vload([0], "int32x32")
        if instruction == "llvm.hexagon.V6.vrmpyub.acc.128B":  # takes the word as it is
            return T.call_llvm_pure_intrin("int32x32", instruction, sums, weights, word)
        return T.call_llvm_pure_intrin(
            "int32x32", instruction, sums, T.Broadcast(word, 32), weights
        )

    desc = dot_meaning(a_dtype, b_dtype, "int32", 32, length, mem_scope)
    return desc, dot_code(desc, compute)


def generate_dot_product_32x4_u8u8i32(mem_scope: str = "global") -> tuple[PrimFunc, PrimFunc]:
    """Dot products of unsigned bytes: VRMPY."""
    instruction = "llvm.hexagon.V6.vrmpyub.acc.128B"
    return _dot_product("uint8", "uint8", 4, instruction, mem_scope)


def generate_dot_product_32x4_u8i8i32(mem_scope: str = "global") -> tuple[PrimFunc, PrimFunc]:
    """Dot products of unsigned bytes with signed ones: VRMPY."""
    instruction = "llvm.hexagon.V6.vrmpybusv.acc.128B"
    return _dot_product("uint8", "int8", 4, instruction, mem_scope)


def generate_dot_product_32x2_i16i16i32(mem_scope: str = "global") -> tuple[PrimFunc, PrimFunc]:
    """Dot products of pairs of 16 bits: VDMPY, whose sums saturate."""
    instruction = "llvm.hexagon.V6.vdmpyhvsat.acc.128B"
    return _dot_product("int16", "int16", 2, instruction, mem_scope)


VRMPY_u8u8i32_INTRIN: Final = "dot_32x4_u8u8i32_vrmpy"
VRMPY_u8i8i32_INTRIN: Final = "dot_32x4_u8i8i32_vrmpy"
VDMPY_i16i16i32_INTRIN: Final = "dot_product_32x2_i16i16i32_vdmpy"
VRMPY_u8u8i32_VTCM_INTRIN: Final = "dot_32x4_u8u8i32_vtcm_vrmpy"
VRMPY_u8i8i32_VTCM_INTRIN: Final = "dot_32x4_u8i8i32_vtcm_vrmpy"
DMA_READ_128_u8: Final = "dma_read_128_u8"
DMA_READ_128_i8: Final = "dma_read_128_i8"

register_own(VRMPY_u8u8i32_INTRIN, generate_dot_product_32x4_u8u8i32)
register_own(VRMPY_u8i8i32_INTRIN, generate_dot_product_32x4_u8i8i32)
register_own(VDMPY_i16i16i32_INTRIN, generate_dot_product_32x2_i16i16i32)
register_own(
    VRMPY_u8u8i32_VTCM_INTRIN, generate_dot_product_32x4_u8u8i32, "global.vtcm"
)
register_own(
    VRMPY_u8i8i32_VTCM_INTRIN, generate_dot_product_32x4_u8i8i32, "global.vtcm"
)
register_own(DMA_READ_128_u8, generate_dma_load_intrin, 128, "uint8")
register_own(DMA_READ_128_i8, generate_dma_load_intrin, 128, "int8")
