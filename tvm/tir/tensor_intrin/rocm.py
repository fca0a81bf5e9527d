"""Tensor intrinsics of AMD's GPUs: `sdot4`, and `mfma` by wavefronts of 64 (AMD CDNA3 ISA, 7).

A thread holds as many elements of a factor as follow each other in what is summed over; of a
result it holds four below each other.
"""

# What is below is TVMScript: its annotations are calls, its names are buffers.
# mypy: ignore-errors

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tvm.error import CheckError, message
from tvm.target.gpu_model import MATRIX_THREADS
from tvm.tir.buffer import Buffer
from tvm.tir.expr import IntImm, PrimExpr
from tvm.tir.function import PrimFunc
from tvm.tir.intrin_registry import register_own
from tvm.tir.op.arith import const
from tvm.tir.script import language as T

from .dot_product_common import dp4a_code, get_dp4a_intrin
from .matrix_steps import (
    Coordinates,
    Tile,
    copy_meaning,
    fill_meaning,
    load_meaning,
    product_meaning,
)

_WARP: Final = MATRIX_THREADS["rocm"]
_M: Final = 16
_N: Final = 16
_SHORT: Final = {"float16": "f16", "float32": "f32", "int8": "i8", "int32": "i32"}


def _sdot4(A: Buffer, B: Buffer) -> PrimExpr:
    a, b = (T.reinterpret("int32", x.vload([0], "int8x4")) for x in (A, B))
    return T.call_llvm_pure_intrin(
        "int32", "llvm.amdgcn.sdot4", a, b, T.int32(0), T.bool(True)
    )


sdot4: Final = dp4a_code("int8", "int8", "int32", _sdot4)


# --- layouts: where an element of a tile lies, and back ---


def shared_16x4_to_local_64x1_layout_A(i: Any, j: Any) -> Coordinates:
    """Thread and element of (i, j) in a tile of 16x4 of A."""
    return j * 16 + i, IntImm("int32", 0)


def thread_id_shared_access_64x1_to_16x4_layout_A(thread_id: Any, local_id: Any) -> Coordinates:
    """The inverse."""
    return thread_id % 16, thread_id // 16 + local_id


def shared_4x16_to_local_64x1_layout_B(i: Any, j: Any) -> Coordinates:
    """Thread and element of (i, j) in a tile of 4x16 of B."""
    return i * 16 + j, IntImm("int32", 0)


def thread_id_shared_access_64x1_to_4x16_layout_B(thread_id: Any, local_id: Any) -> Coordinates:
    """The inverse."""
    return thread_id // 16, thread_id % 16 + local_id


def shared_16x16_to_local_64x4_layout_A(i: Any, j: Any) -> Coordinates:
    """Thread and element of (i, j) in a tile of 16x16 of A."""
    return i + 16 * (j // 4), j % 4


def thread_id_shared_access_64x4_to_16x16_layout_A(thread_id: Any, local_id: Any) -> Coordinates:
    """The inverse."""
    return thread_id % 16, thread_id // 16 * 4 + local_id


def shared_16x16_to_local_64x4_layout_B(i: Any, j: Any) -> Coordinates:
    """Thread and element of (i, j) in a tile of 16x16 of B."""
    return j + i // 4 * 16, i % 4


def thread_id_shared_access_64x4_to_16x16_layout_B(thread_id: Any, local_id: Any) -> Coordinates:
    """The inverse."""
    return local_id + thread_id // 16 * 4, thread_id % 16


def shared_16x16_to_local_64x4_layout_C(i: Any, j: Any) -> Coordinates:
    """Thread and element of (i, j) in a tile of the result."""
    return j + i // 4 * 16, i % 4


def thread_id_shared_access_64x4_to_16x16_layout_C(thread_id: Any, local_id: Any) -> Coordinates:
    """The inverse."""
    return local_id + thread_id // 16 * 4, thread_id % 16


def _layouts(
    k_dim: int, is_b: bool, transposed: bool
) -> tuple[Callable[..., Coordinates], Callable[..., Coordinates]]:
    """The layout of a factor and its inverse; a transposed B lies as A does."""
    as_a = not is_b or transposed
    if k_dim == 4:
        if as_a:
            return (shared_16x4_to_local_64x1_layout_A,
                    thread_id_shared_access_64x1_to_16x4_layout_A)  # fmt: skip
        return shared_4x16_to_local_64x1_layout_B, thread_id_shared_access_64x1_to_4x16_layout_B
    if k_dim == 16:
        if as_a:
            return (shared_16x16_to_local_64x4_layout_A,
                    thread_id_shared_access_64x4_to_16x16_layout_A)  # fmt: skip
        return shared_16x16_to_local_64x4_layout_B, thread_id_shared_access_64x4_to_16x16_layout_B
    raise CheckError(message("a tile for mfma", found=f"k_dim={k_dim}", legal="k_dim 4 or 16"))


# --- the steps of a product ---


def get_mma_fill_intrin(dtype: str, local_size: int) -> tuple[PrimFunc, PrimFunc]:
    """A tile of the result set to zero."""
    zero, c = const(0, dtype), _in_registers(dtype, local_size)

    @T.prim_func
    def mma_fill_impl(a: T.handle) -> None:
        C_warp = c.match(a)
        with T.block("root"):
            T.reads()
            T.writes(c.all(C_warp))
            for tx in T.thread_binding(0, _WARP, "threadIdx.x"):
                for local_id in T.serial(0, local_size):
                    C_warp[tx, local_id] = zero

    return fill_meaning(c.compact(), "C_warp", zero), mma_fill_impl


def _in_registers(dtype: str, local_size: int) -> Tile:
    """A tile of the result in registers."""
    layout = shared_16x16_to_local_64x4_layout_C
    return Tile(_M, _N, dtype, "warp", 1, layout, (_WARP, local_size))


def get_mfma_load_intrin(
    k_dim: int = 4, dtype: str = "float32", scope: str = "shared", is_b: bool = False,
    transposed: bool = False,
) -> tuple[PrimFunc, PrimFunc]:  # fmt: skip
    """A tile of a factor to registers."""
    local_size = _M * k_dim // _WARP
    rows, columns = (k_dim, _N) if is_b and not transposed else (_M, k_dim)
    layout, coordinates = _layouts(k_dim, is_b, transposed)
    source = Tile(rows, columns, dtype, scope)
    target = Tile(rows, columns, dtype, "warp", 1, layout, (_WARP, local_size))

    @T.prim_func
    def mfma_load_impl(reg_handle: T.handle, memory_handle: T.handle) -> None:
        s0 = T.int32()
        s1 = T.int32()
        memory = source.match(memory_handle, [s0, s1])
        reg = target.match(reg_handle)
        with T.block("root"):
            T.reads(source.all(memory))
            T.writes(target.all(reg))
            for tx in T.thread_binding(0, _WARP, "threadIdx.x"):
                for local_id in T.serial(0, local_size):
                    row, column = T.meta_var(coordinates(tx, local_id))
                    reg[tx, local_id] = memory[row, column]

    return load_meaning(target, source, "memory_reg"), mfma_load_impl


def get_mfma_intrin(
    k_dim: int, in_dtype: str = "float32", out_dtype: str = "float32", b_transposed: bool = False
) -> tuple[PrimFunc, PrimFunc]:
    """C += A @ B on tiles in registers; int8 factors go four to a word."""
    local_size, local_size_out = _M * k_dim // _WARP, _M * _N // _WARP
    name = f"llvm.amdgcn.mfma.{_SHORT[out_dtype]}.{_M}x{_N}x{k_dim}{_SHORT[in_dtype]}"

    def packed(value: PrimExpr) -> PrimExpr:
        return T.reinterpret("int32", value) if in_dtype == "int8" else value

    a, b = (
        Tile(*shape, in_dtype, "warp", 1, _layouts(k_dim, *way)[0], (_WARP, local_size))
        for shape, way in (
            ((_M, k_dim), (False, False)),
            ((_N, k_dim) if b_transposed else (k_dim, _N), (True, b_transposed)),
        )
    )
    c = _in_registers(out_dtype, local_size_out)

    @T.prim_func
    def mfma_sync_impl(a_handle: T.handle, b_handle: T.handle, c_handle: T.handle) -> None:
        A = a.match(a_handle)
        B = b.match(b_handle)
        C = c.match(c_handle)
        with T.block("root"):
            T.reads(c.all(C), a.all(A), b.all(B))
            T.writes(c.all(C))
            for tx in T.thread_binding(0, _WARP, "threadIdx.x"):
                C[tx, 0:local_size_out] = T.call_llvm_pure_intrin(
                    f"{out_dtype}x{local_size_out}",
                    name,
                    packed(A[tx, 0:local_size]),
                    packed(B[tx, 0:local_size]),
                    C[tx, 0:local_size_out],
                    T.int32(0),
                    T.int32(0),
                    T.int32(0),
                )

    return product_meaning(a, b, c, "C", b_transposed=b_transposed), mfma_sync_impl


def get_mfma_store_intrin(
    local_size: int = 4, dtype: str = "float32", scope: str = "global"
) -> tuple[PrimFunc, PrimFunc]:
    """A tile of the result to memory."""
    source, target = _in_registers(dtype, local_size), Tile(_M, _N, dtype, scope)
    coordinates = thread_id_shared_access_64x4_to_16x16_layout_C

    @T.prim_func
    def mfma_store_impl(a: T.handle, c: T.handle) -> None:
        s0 = T.int32()
        s1 = T.int32()
        C_warp = source.match(a)
        C = target.match(c, [s0, s1])
        with T.block("root"):
            T.reads(source.all(C_warp))
            T.writes(target.all(C))
            for tx in T.thread_binding(0, _WARP, "threadIdx.x"):
                for local_id in T.serial(0, local_size):
                    row, column = T.meta_var(coordinates(tx, local_id))
                    C[row, column] = C_warp[tx, local_id]

    return copy_meaning(source.compact(), target.compact(), "C_warp"), mfma_store_impl


AMDGPU_SDOT4_INTRIN: Final = "sdot4"
ROCM_MFMA_fill_16x16_f32_INTRIN: Final = "ROCM_mfma_fill_16x16_f32"
ROCM_MFMA_fill_16x16_i32_INTRIN: Final = "ROCM_mfma_fill_16x16_i32"
ROCM_MFMA_LOAD_16x4_A_SHARED_f32_INTRIN: Final = "rocm_mfma_load_16x4_a_shared_f32"
ROCM_MFMA_LOAD_16x4_B_SHARED_f32_INTRIN: Final = "rocm_mfma_load_b_16x4_shared_f32"
ROCM_MFMA_LOAD_16x16_A_SHARED_s8_INTRIN: Final = "rocm_mfma_load_16x16_a_shared_s8"
ROCM_MFMA_LOAD_16x16_B_SHARED_s8_INTRIN: Final = "rocm_mfma_load_b_16x16_shared_s8"
ROCM_MFMA_LOAD_16x16_A_SHARED_f16_INTRIN: Final = "rocm_mfma_load_16x16_a_shared_f16"
ROCM_MFMA_LOAD_16x16_B_SHARED_f16_INTRIN: Final = "rocm_mfma_load_b_16x16_shared_f16"
ROCM_MFMA_f32f32f32_INTRIN: Final = "rocm_mfma_f32f32f32"
ROCM_MFMA_f16f16f32_INTRIN: Final = "rocm_mfma_f16f16f32"
ROCM_MFMA_s8s8s32_INTRIN: Final = "rocm_mfma_s8s8s32"
ROCM_MFMA_STORE_16x16_s32_INTRIN: Final = "rocm_mfma_store_16x16_s32"
ROCM_MFMA_STORE_16x16_f32_INTRIN: Final = "rocm_mfma_store_16x16_f32"

register_own(
    AMDGPU_SDOT4_INTRIN, lambda: (get_dp4a_intrin("int8", "int8", "int32")[0], sdot4)
)
register_own(ROCM_MFMA_fill_16x16_f32_INTRIN, get_mma_fill_intrin, "float32", 4)
register_own(ROCM_MFMA_fill_16x16_i32_INTRIN, get_mma_fill_intrin, "int32", 4)
for _name, _k, _dtype, _b in (
    (ROCM_MFMA_LOAD_16x4_A_SHARED_f32_INTRIN, 4, "float32", False),
    (ROCM_MFMA_LOAD_16x4_B_SHARED_f32_INTRIN, 4, "float32", True),
    (ROCM_MFMA_LOAD_16x16_A_SHARED_s8_INTRIN, 16, "int8", False),
    (ROCM_MFMA_LOAD_16x16_B_SHARED_s8_INTRIN, 16, "int8", True),
    (ROCM_MFMA_LOAD_16x16_A_SHARED_f16_INTRIN, 16, "float16", False),
    (ROCM_MFMA_LOAD_16x16_B_SHARED_f16_INTRIN, 16, "float16", True),
):
    register_own(_name, get_mfma_load_intrin, _k, _dtype, "shared", _b)
register_own(ROCM_MFMA_f32f32f32_INTRIN, get_mfma_intrin, 4, "float32", "float32")
register_own(ROCM_MFMA_f16f16f32_INTRIN, get_mfma_intrin, 16, "float16", "float32")
register_own(ROCM_MFMA_s8s8s32_INTRIN, get_mfma_intrin, 16, "int8", "int32")
register_own(ROCM_MFMA_STORE_16x16_s32_INTRIN, get_mfma_store_intrin, 4, "int32")
register_own(ROCM_MFMA_STORE_16x16_f32_INTRIN, get_mfma_store_intrin, 4, "float32")
