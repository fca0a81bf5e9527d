"""Products of 16x8 by 8x8 on fragments of scope "m16n8k8.matrixA", "B", "C" (PTX ISA, 9.7.14).

Schedules see fragments as matrices; `tir.TransformMmaBufferLayout` makes registers of them: a
thread has 8 elements of each tile of 32x8 of A and of 8x32 of B, and 4 of each 16x8 of C.
"""

# What is below is TVMScript: its annotations are calls, its names are buffers.
# mypy: ignore-errors

from __future__ import annotations

from typing import Any, Final

from tvm.ffi import register_global_func
from tvm.tir.expr import PrimExpr
from tvm.tir.function import PrimFunc
from tvm.tir.intrin_registry import register_own
from tvm.tir.op.arith import const
from tvm.tir.script import language as T

from .mma import _PTX, _SHORT

_WARP: Final = 32
_SCOPE: Final = "m16n8k8.matrix"


def get_index_A(elem_offset: Any, stride: Any) -> Any:
    """The first register element of a 16x8 piece of A, half of a tile of 32x8."""
    i, j = elem_offset // stride, elem_offset % stride
    tile = i // 32 * (stride // 8) + j // 8
    return tile * 8 + i % 32 // 16 * 4


def get_index_B(elem_offset: Any, stride: Any) -> Any:
    """The first register element of an 8x8 piece of B, a quarter of a tile of 8x32."""
    i, j = elem_offset // stride, elem_offset % stride
    tile = i // 8 * (stride // 32) + j // 32
    return tile * 8 + j % 32 // 8 * 2


def get_index_C(elem_offset: Any, stride: Any) -> Any:
    """The first register element of a 16x8 tile of C."""
    i, j = elem_offset // stride, elem_offset % stride
    tile = i // 16 * (stride // 8) + j // 8
    return tile * 4 + i // 8 % 2 * 2


@register_global_func("tir.index_map_m16n8k8.matrixC", override=True)
def index_map_m16n8k8_matrixC(ind: Any) -> list[Any]:
    """Tile and element of C that an element of the matrix is; threads are not counted."""
    i, j = ind[0], ind[1]
    return [i // 8 // 2, j // 8, i // 8 % 2, j % 8 % 2]


def get_mma_init_intrin(
    m_dim: int, n_dim: int, k_dim: int, dtype: str
) -> tuple[PrimFunc, PrimFunc]:
    """A tile of C set to zero, by the threads that hold it."""
    zero = const(0, dtype)
    pair = n_dim // 4

    @T.prim_func
    def mma_init_desc(c: T.handle) -> None:
        dst = T.match_buffer(
            c, (m_dim, n_dim), dtype, align=64, offset_factor=1, scope=_SCOPE + "C"
        )
        with T.block("root"):
            T.reads()
            T.writes(dst[0:m_dim, 0:n_dim])
            for i, j in T.grid(m_dim, n_dim):
                with T.block("init"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    dst[vi, vj] = zero

    @T.prim_func
    def mma_init_impl(c: T.handle) -> None:
        dst = T.match_buffer(
            c, (m_dim, n_dim), dtype, align=64, offset_factor=1, scope=_SCOPE + "C"
        )
        with T.block("root"):
            T.reads()
            T.writes(dst[0:m_dim, 0:n_dim])
            for tx in T.thread_binding(0, _WARP, "threadIdx.x"):
                for b in T.unroll(m_dim // 8):
                    for v in T.vectorized(pair):
                        dst[b * 8 + tx // 4, tx % 4 * pair + v] = zero

    return mma_init_desc, mma_init_impl


def get_mma_load_intrin(
    m_dim: int, n_dim: int, k_dim: int, dtype: str, shared_scope: str, is_b: bool,
    is_col_major: bool,
) -> tuple[PrimFunc, PrimFunc]:  # fmt: skip
    """A tile of a factor from shared memory: four pieces of 8x8 at once."""
    scope = _SCOPE + ("B" if is_b else "A")
    rows, columns = (k_dim, n_dim) if is_b else (m_dim, k_dim)
    turned = is_b != is_col_major
    if is_col_major:
        rows, columns = columns, rows
    index = get_index_B if is_b else get_index_A

    def row_offset(tx: PrimExpr, stride: PrimExpr) -> PrimExpr:
        return tx % 8 * stride + tx // 8 * 8 if turned else tx * stride

    @T.prim_func
    def mma_load_desc(a: T.handle, c: T.handle) -> None:
        src = T.match_buffer(
            a, (rows, columns), dtype, align=64, offset_factor=1, scope=shared_scope
        )
        dst = T.match_buffer(c, (rows, columns), dtype, align=64, offset_factor=1, scope=scope)
        with T.block("root"):
            T.reads(src[0:rows, 0:columns])
            T.writes(dst[0:rows, 0:columns])
            for i, j in T.grid(rows, columns):
                with T.block("load"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    dst[vi, vj] = src[vi, vj]

    @T.prim_func
    def mma_load_impl(a: T.handle, c: T.handle) -> None:
        s1 = T.int32()
        s0 = T.int32()
        d1 = T.int32()
        d0 = T.int32()
        src = T.match_buffer(
            a, (rows, columns), dtype, align=64, offset_factor=1, scope=shared_scope,
            strides=[s1, s0],
        )  # fmt: skip
        dst = T.match_buffer(
            c, (rows, columns), dtype, align=64, offset_factor=1, scope=scope, strides=[d1, d0]
        )
        with T.block("root"):
            T.reads(src[0:rows, 0:columns])
            T.writes(dst[0:rows, 0:columns])
            for tx in T.thread_binding(0, _WARP, "threadIdx.x"):
                T.evaluate(
                    T.ptx_ldmatrix(
                        turned, 4, ".b16", dst.data, index(dst.elem_offset, d1),
                        src.access_ptr("r"), row_offset(tx, s1), dtype=dtype,
                    )
                )  # fmt: skip

    return mma_load_desc, mma_load_impl


def get_mma_sync_intrin(
    m_dim: int, n_dim: int, k_dim: int, in_dtype: str, out_dtype: str, b_transposed: bool
) -> tuple[PrimFunc, PrimFunc]:
    """C += A @ B on fragments, or A @ B.T."""
    b_rows, b_columns = (n_dim, k_dim) if b_transposed else (k_dim, n_dim)
    shape, in_word, out_word = f"m{m_dim}n{n_dim}k{k_dim}", _PTX[in_dtype], _PTX[out_dtype]

    def maybe_swap(k: PrimExpr, j: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        return (j, k) if b_transposed else (k, j)

    def wide(value: PrimExpr) -> PrimExpr:
        return value.astype(out_dtype) if out_dtype in ("float32", "int32") else value

    @T.prim_func
    def mma_sync_desc(a: T.handle, b: T.handle, c: T.handle) -> None:
        A = T.match_buffer(
            a, (m_dim, k_dim), in_dtype, align=64, offset_factor=1, scope=_SCOPE + "A"
        )
        B = T.match_buffer(
            b, (b_rows, b_columns), in_dtype, align=64, offset_factor=1, scope=_SCOPE + "B"
        )
        C = T.match_buffer(
            c, (m_dim, n_dim), out_dtype, align=64, offset_factor=1, scope=_SCOPE + "C"
        )
        with T.block("root"):
            T.reads(C[0:m_dim, 0:n_dim], A[0:m_dim, 0:k_dim], B[0:b_rows, 0:b_columns])
            T.writes(C[0:m_dim, 0:n_dim])
            for i, j, k in T.grid(m_dim, n_dim, k_dim):
                with T.block("C"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    C[vi, vj] = C[vi, vj] + wide(A[vi, vk]) * wide(B[maybe_swap(vk, vj)])

    @T.prim_func
    def mma_sync_impl(a: T.handle, b: T.handle, c: T.handle) -> None:
        a1 = T.int32()
        a0 = T.int32()
        b1 = T.int32()
        b0 = T.int32()
        c1 = T.int32()
        c0 = T.int32()
        A = T.match_buffer(
            a, (m_dim, k_dim), in_dtype, align=64, offset_factor=1, scope=_SCOPE + "A",
            strides=[a1, a0],
        )  # fmt: skip
        B = T.match_buffer(
            b, (b_rows, b_columns), in_dtype, align=64, offset_factor=1, scope=_SCOPE + "B",
            strides=[b1, b0],
        )  # fmt: skip
        C = T.match_buffer(
            c, (m_dim, n_dim), out_dtype, align=64, offset_factor=1, scope=_SCOPE + "C",
            strides=[c1, c0],
        )  # fmt: skip
        with T.block("root"):
            T.reads(C[0:m_dim, 0:n_dim], A[0:m_dim, 0:k_dim], B[0:b_rows, 0:b_columns])
            T.writes(C[0:m_dim, 0:n_dim])
            T.evaluate(
                T.ptx_mma(
                    shape, "row", "col", in_word, in_word, out_word,
                    A.data, get_index_A(A.elem_offset, a1),
                    B.data, get_index_B(B.elem_offset, b1),
                    C.data, get_index_C(C.elem_offset, c1),
                    False, dtype=out_dtype,
                )
            )  # fmt: skip

    return mma_sync_desc, mma_sync_impl


def get_mma_store_dummy_intrin(
    m_dim: int, n_dim: int, k_dim: int, dtype: str
) -> tuple[PrimFunc, PrimFunc]:
    """A tile of C to memory, as loops: schedules spread them over the threads themselves."""

    @T.prim_func
    def mma_store_desc(a: T.handle, c: T.handle) -> None:
        src = T.match_buffer(
            a, (m_dim, n_dim), dtype, align=64, offset_factor=1, scope=_SCOPE + "C"
        )
        dst = T.match_buffer(
            c, (m_dim, n_dim), dtype, align=64, offset_factor=1, scope="shared.dyn"
        )
        with T.block("root"):
            T.reads(src[0:m_dim, 0:n_dim])
            T.writes(dst[0:m_dim, 0:n_dim])
            for i, j in T.grid(m_dim, n_dim):
                with T.block("store"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    dst[vi, vj] = src[vi, vj]

    return mma_store_desc, mma_store_desc


register_own("mma_init_m16n8k8_f16", *get_mma_init_intrin(16, 8, 8, "float16"))
register_own("mma_init_m16n8k8_f32", *get_mma_init_intrin(16, 8, 8, "float32"))
register_own(
    "mma_load_m16n8k8_f16_A_shared_dyn",
    *get_mma_load_intrin(32, 8, 8, "float16", "shared.dyn", False, False),
)
register_own(
    "mma_load_m16n8k8_f16_B_shared_dyn",
    *get_mma_load_intrin(32, 32, 8, "float16", "shared.dyn", True, False),
)
for _out in ("float16", "float32"):
    register_own(
        f"mma_sync_m16n8k8_f16f16{_SHORT[_out]}",
        *get_mma_sync_intrin(16, 8, 8, "float16", _out, False),
    )
    register_own(
        f"mma_store_m16n8k8_{_SHORT[_out]}_global", *get_mma_store_dummy_intrin(16, 8, 8, _out)
    )
