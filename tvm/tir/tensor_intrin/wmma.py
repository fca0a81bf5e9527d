"""Products of matrices by the warps of a GPU, through fragments: CUDA's `wmma` (PTX ISA, 9.7.14).

A warp loads tiles of the factors into fragments, adds products to fragments of the result, and
stores those. Which thread holds which element of a fragment is up to the hardware.
"""

# What is below is TVMScript: its annotations are calls, its names are buffers.
# mypy: ignore-errors

from __future__ import annotations

from typing import Final, Literal

from tvm.tir.buffer import Buffer
from tvm.tir.expr import PrimExpr
from tvm.tir.function import PrimFunc
from tvm.tir.intrin_registry import register_own
from tvm.tir.script import language as T

_SHORT: Final = {
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "int8": "s8", "int32": "s32",
    "int4": "s4",
}  # fmt: skip


def get_wmma_fragment_index(buffer: Buffer, stride: PrimExpr, m_dim: int, n_dim: int) -> PrimExpr:
    """The number of the fragment that begins where a buffer of many fragments begins."""
    row = buffer.elem_offset // stride // m_dim
    column = buffer.elem_offset % stride // n_dim
    return row * (stride // n_dim) + column


def get_wmma_load_intrin(
    m_dim: int,
    n_dim: int,
    k_dim: int,
    dtype: str,
    shared_scope: str,
    is_b: bool,
    is_col_major: bool,
) -> tuple[PrimFunc, PrimFunc]:
    """A tile of a factor from shared memory to a fragment; columns first if it is transposed."""
    scope = f"wmma.matrix_{'b' if is_b else 'a'}"
    layout = "col_major" if is_col_major else "row_major"
    frag_m, frag_n = (k_dim, n_dim) if is_b else (m_dim, k_dim)
    if is_col_major:
        frag_m, frag_n = frag_n, frag_m
    offset = 8 if dtype in ("float16", "bfloat16") else 16

    @T.prim_func
    def wmma_load_desc(a: T.handle, c: T.handle) -> None:
        A = T.match_buffer(
            a, (frag_m, frag_n), dtype, align=64, offset_factor=offset, scope=shared_scope
        )
        C = T.match_buffer(c, (frag_m, frag_n), dtype, align=64, offset_factor=offset, scope=scope)
        with T.block("root"):
            T.reads(A[0:frag_m, 0:frag_n])
            T.writes(C[0:frag_m, 0:frag_n])
            for i, j in T.grid(frag_m, frag_n):
                with T.block("load"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = A[vi, vj]

    @T.prim_func
    def wmma_load_impl(a: T.handle, c: T.handle) -> None:
        s1 = T.int32()
        s0 = T.int32()
        d1 = T.int32()
        d0 = T.int32()
        A = T.match_buffer(
            a, (frag_m, frag_n), dtype, align=64, offset_factor=offset, scope=shared_scope,
            strides=[s1, s0],
        )  # fmt: skip
        C = T.match_buffer(
            c, (frag_m, frag_n), dtype, align=64, offset_factor=offset, scope=scope,
            strides=[d1, d0],
        )  # fmt: skip
        with T.block("root"):
            T.reads(A[0:frag_m, 0:frag_n])
            T.writes(C[0:frag_m, 0:frag_n])
            T.evaluate(
                T.tvm_load_matrix_sync(
                    C.data, m_dim, n_dim, k_dim,
                    get_wmma_fragment_index(C, d1, frag_m, frag_n),
                    A.access_ptr("r"), s1, layout, dtype="handle",
                )
            )  # fmt: skip

    return wmma_load_desc, wmma_load_impl


def get_wmma_fill_intrin(
    m_dim: int, n_dim: int, k_dim: int, dtype: str
) -> tuple[PrimFunc, PrimFunc]:
    """A fragment of the result set to zero."""
    zero = 0 if dtype.startswith("int") else 0.0

    @T.prim_func
    def wmma_fill_desc(c: T.handle) -> None:
        C = T.match_buffer(
            c, (m_dim, n_dim), dtype, align=64, offset_factor=16, scope="wmma.accumulator"
        )
        with T.block("root"):
            T.reads()
            T.writes(C[0:m_dim, 0:n_dim])
            for i, j in T.grid(m_dim, n_dim):
                with T.block("init"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = T.cast(zero, dtype)

    @T.prim_func
    def wmma_fill_impl(c: T.handle) -> None:
        d1 = T.int32()
        d0 = T.int32()
        C = T.match_buffer(
            c, (m_dim, n_dim), dtype, align=64, offset_factor=16, scope="wmma.accumulator",
            strides=[d1, d0],
        )  # fmt: skip
        with T.block("root"):
            T.reads()
            T.writes(C[0:m_dim, 0:n_dim])
            T.evaluate(
                T.tvm_fill_fragment(
                    C.data, m_dim, n_dim, k_dim, get_wmma_fragment_index(C, d1, m_dim, n_dim),
                    T.float32(0), dtype="handle",
                )
            )  # fmt: skip

    return wmma_fill_desc, wmma_fill_impl


def get_wmma_store_intrin(
    m_dim: int, n_dim: int, k_dim: int, dtype: str, scope: str
) -> tuple[PrimFunc, PrimFunc]:
    """A fragment of the result to memory."""

    @T.prim_func
    def wmma_store_desc(a: T.handle, c: T.handle) -> None:
        A = T.match_buffer(
            a, (m_dim, n_dim), dtype, align=64, offset_factor=16, scope="wmma.accumulator"
        )
        C = T.match_buffer(c, (m_dim, n_dim), dtype, align=64, offset_factor=16, scope=scope)
        with T.block("root"):
            T.reads(A[0:m_dim, 0:n_dim])
            T.writes(C[0:m_dim, 0:n_dim])
            for i, j in T.grid(m_dim, n_dim):
                with T.block("store"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = A[vi, vj]

    @T.prim_func
    def wmma_store_impl(a: T.handle, c: T.handle) -> None:
        s1 = T.int32()
        s0 = T.int32()
        d1 = T.int32()
        d0 = T.int32()
        A = T.match_buffer(
            a, (m_dim, n_dim), dtype, align=64, offset_factor=16, scope="wmma.accumulator",
            strides=[d1, d0],
        )  # fmt: skip
        C = T.match_buffer(
            c, (m_dim, n_dim), dtype, align=64, offset_factor=16, scope=scope, strides=[s1, s0]
        )
        with T.block("root"):
            T.reads(A[0:m_dim, 0:n_dim])
            T.writes(C[0:m_dim, 0:n_dim])
            T.evaluate(
                T.tvm_store_matrix_sync(
                    A.data, m_dim, n_dim, k_dim, get_wmma_fragment_index(A, d1, m_dim, n_dim),
                    C.access_ptr("w"), s1, "row_major", dtype="handle",
                )
            )  # fmt: skip

    return wmma_store_desc, wmma_store_impl


def get_wmma_sync_intrin(
    m_dim: int, n_dim: int, k_dim: int, in_dtype: str, out_dtype: str, b_transposed: bool
) -> tuple[PrimFunc, PrimFunc]:
    """C += A @ B on fragments, or A @ B.T."""
    b_rows, b_columns = (n_dim, k_dim) if b_transposed else (k_dim, n_dim)

    def maybe_swap(k: PrimExpr, j: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        return (j, k) if b_transposed else (k, j)

    def wide(value: PrimExpr) -> PrimExpr:
        return value if in_dtype == out_dtype else value.astype(out_dtype)

    @T.prim_func
    def wmma_sync_desc(a: T.handle, b: T.handle, c: T.handle) -> None:
        A = T.match_buffer(
            a, (m_dim, k_dim), in_dtype, align=64, offset_factor=16, scope="wmma.matrix_a"
        )
        B = T.match_buffer(
            b, (b_rows, b_columns), in_dtype, align=64, offset_factor=16, scope="wmma.matrix_b"
        )
        C = T.match_buffer(
            c, (m_dim, n_dim), out_dtype, align=64, offset_factor=16, scope="wmma.accumulator"
        )
        with T.block("root"):
            T.reads(C[0:m_dim, 0:n_dim], A[0:m_dim, 0:k_dim], B[0:b_rows, 0:b_columns])
            T.writes(C[0:m_dim, 0:n_dim])
            for i, j, k in T.grid(m_dim, n_dim, k_dim):
                with T.block(""):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    C[vi, vj] = C[vi, vj] + wide(A[vi, vk]) * wide(B[maybe_swap(vk, vj)])

    @T.prim_func
    def wmma_sync_impl(a: T.handle, b: T.handle, c: T.handle) -> None:
        a1 = T.int32()
        a0 = T.int32()
        b1 = T.int32()
        b0 = T.int32()
        c1 = T.int32()
        c0 = T.int32()
        A = T.match_buffer(
            a, (m_dim, k_dim), in_dtype, align=64, offset_factor=16, scope="wmma.matrix_a",
            strides=[a1, a0],
        )  # fmt: skip
        B = T.match_buffer(
            b, (b_rows, b_columns), in_dtype, align=64, offset_factor=16, scope="wmma.matrix_b",
            strides=[b1, b0],
        )  # fmt: skip
        C = T.match_buffer(
            c, (m_dim, n_dim), out_dtype, align=64, offset_factor=16, scope="wmma.accumulator",
            strides=[c1, c0],
        )  # fmt: skip
        with T.block("root"):
            T.reads(C[0:m_dim, 0:n_dim], A[0:m_dim, 0:k_dim], B[0:b_rows, 0:b_columns])
            T.writes(C[0:m_dim, 0:n_dim])
            T.evaluate(
                T.tvm_mma_sync(
                    C.data, get_wmma_fragment_index(C, c1, m_dim, n_dim),
                    A.data, get_wmma_fragment_index(A, a1, m_dim, k_dim),
                    B.data, get_wmma_fragment_index(B, b1, b_rows, b_columns),
                    C.data, get_wmma_fragment_index(C, c1, m_dim, n_dim),
                    dtype="handle",
                )
            )  # fmt: skip

    return wmma_sync_desc, wmma_sync_impl


def get_wmma_intrin_group(
    load_scope: Literal["shared", "shared.dyn"],
    store_scope: Literal["global", "shared", "shared.dyn"],
    in_dtype: str,
    out_dtype: str,
    trans_b: bool,
) -> dict[str, str]:
    """The names of the intrinsics that belong together, by what they do."""
    _check("load_scope", load_scope, ("shared", "shared.dyn"))
    _check("store_scope", store_scope, ("global", "shared", "shared.dyn"))
    _check("in_dtype", in_dtype, ("float16", "int8", "bfloat16"))
    _check("out_dtype", out_dtype, ("float16", "float32", "int32"))
    factor, result = _SHORT[in_dtype], _SHORT[out_dtype]
    loads, stores = load_scope.replace(".", "_"), store_scope.replace(".", "_")
    trans = "_trans" if trans_b else ""
    return {
        "init": f"wmma_fill_16x16x16_{result}",
        "load_a": f"wmma_load_16x16x16_{factor}_a_{loads}",
        "load_b": f"wmma_load_16x16x16_{factor}_b{trans}_{loads}",
        "compute": f"wmma_sync_16x16x16_{factor}{factor}{result}{trans}",
        "store": f"wmma_store_16x16x16_{result}_{stores}",
    }


def _check(name: str, found: str, legal: tuple[str, ...]) -> None:
    if found not in legal:
        raise ValueError(
            f"get_wmma_intrin_group: {name} is {found!r}; legal: {', '.join(legal)}"
        )


WMMA_SYNC_16x16x16_f16f16f32_INTRIN: Final = "wmma_sync_16x16x16_f16f16f32"
WMMA_SYNC_16x16x16_f16f16f32_TRANS_INTRIN: Final = "wmma_sync_16x16x16_f16f16f32_trans"
WMMA_SYNC_16x16x16_f16f16f16_INTRIN: Final = "wmma_sync_16x16x16_f16f16f16"
WMMA_SYNC_16x16x16_f16f16f16_TRANS_INTRIN: Final = "wmma_sync_16x16x16_f16f16f16_trans"
WMMA_SYNC_16x16x16_s8s8s32_INTRIN: Final = "wmma_sync_16x16x16_s8s8s32"
WMMA_SYNC_16x16x16_s8s8s32_TRANS_INTRIN: Final = "wmma_sync_16x16x16_s8s8s32_trans"
WMMA_SYNC_8x8x32_s4s4s32_TRANS_INTRIN: Final = "wmma_sync_8x8x32_s4s4s32_trans"
WMMA_LOAD_16x16x16_F16_A_INTRIN: Final = "wmma_load_16x16x16_f16_a_shared"
WMMA_LOAD_16x16x16_F16_A_DYN_INTRIN: Final = "wmma_load_16x16x16_f16_a_shared_dyn"
WMMA_LOAD_16x16x16_F16_B_INTRIN: Final = "wmma_load_16x16x16_f16_b_shared"
WMMA_LOAD_16x16x16_F16_B_DYN_INTRIN: Final = "wmma_load_16x16x16_f16_b_shared_dyn"
WMMA_LOAD_16x16x16_F16_A_TRANS_INTRIN: Final = "wmma_load_16x16x16_f16_a_trans_shared"
WMMA_LOAD_16x16x16_F16_A_TRANS_DYN_INTRIN: Final = "wmma_load_16x16x16_f16_a_trans_shared_dyn"
WMMA_LOAD_16x16x16_F16_B_TRANS_INTRIN: Final = "wmma_load_16x16x16_f16_b_trans_shared"
WMMA_LOAD_16x16x16_F16_B_TRANS_DYN_INTRIN: Final = "wmma_load_16x16x16_f16_b_trans_shared_dyn"
WMMA_LOAD_16x16x16_S8_A_INTRIN: Final = "wmma_load_16x16x16_s8_a_shared"
WMMA_LOAD_16x16x16_S8_A_DYN_INTRIN: Final = "wmma_load_16x16x16_s8_a_shared_dyn"
WMMA_LOAD_16x16x16_S8_B_INTRIN: Final = "wmma_load_16x16x16_s8_b_shared"
WMMA_LOAD_16x16x16_S8_B_DYN_INTRIN: Final = "wmma_load_16x16x16_s8_b_shared_dyn"
WMMA_LOAD_16x16x16_S8_A_TRANS_INTRIN: Final = "wmma_load_16x16x16_s8_a_trans_shared"
WMMA_LOAD_16x16x16_S8_A_TRANS_DYN_INTRIN: Final = "wmma_load_16x16x16_s8_a_trans_shared_dyn"
WMMA_LOAD_16x16x16_S8_B_TRANS_INTRIN: Final = "wmma_load_16x16x16_s8_b_trans_shared"
WMMA_LOAD_16x16x16_S8_B_TRANS_DYN_INTRIN: Final = "wmma_load_16x16x16_s8_b_trans_shared_dyn"
WMMA_LOAD_8x8x32_S4_A_INTRIN: Final = "wmma_load_8x8x32_s4_a_shared"
WMMA_LOAD_8x8x32_S4_A_DYN_INTRIN: Final = "wmma_load_8x8x32_s4_a_shared_dyn"
WMMA_LOAD_8x8x32_S4_B_TRANS_INTRIN: Final = "wmma_load_8x8x32_s4_b_trans_shared"
WMMA_LOAD_8x8x32_S4_B_TRANS_DYN_INTRIN: Final = "wmma_load_8x8x32_s4_b_trans_shared_dyn"
WMMA_FILL_16x16x16_F32_INTRIN: Final = "wmma_fill_16x16x16_f32"
WMMA_FILL_16x16x16_F16_INTRIN: Final = "wmma_fill_16x16x16_f16"
WMMA_FILL_16x16x16_S32_INTRIN: Final = "wmma_fill_16x16x16_s32"
WMMA_FILL_8x8x32_S32_INTRIN: Final = "wmma_fill_8x8x32_s32"
WMMA_STORE_16x16x16_F32_SHARED_INTRIN: Final = "wmma_store_16x16x16_f32_shared"
WMMA_STORE_16x16x16_F32_SHARED_DYN_INTRIN: Final = "wmma_store_16x16x16_f32_shared_dyn"
WMMA_STORE_16x16x16_F16_SHARED_INTRIN: Final = "wmma_store_16x16x16_f16_shared"
WMMA_STORE_16x16x16_F16_SHARED_DYN_INTRIN: Final = "wmma_store_16x16x16_f16_shared_dyn"
WMMA_STORE_16x16x16_S32_SHARED_INTRIN: Final = "wmma_store_16x16x16_s32_shared"
WMMA_STORE_16x16x16_S32_SHARED_DYN_INTRIN: Final = "wmma_store_16x16x16_s32_shared_dyn"
WMMA_STORE_8x8x32_S32_SHARED_INTRIN: Final = "wmma_store_8x8x32_s32_shared"
WMMA_STORE_8x8x32_S32_SHARED_DYN_INTRIN: Final = "wmma_store_8x8x32_s32_shared_dyn"
WMMA_STORE_16x16x16_F32_GLOBAL_INTRIN: Final = "wmma_store_16x16x16_f32_global"
WMMA_STORE_16x16x16_F16_GLOBAL_INTRIN: Final = "wmma_store_16x16x16_f16_global"
WMMA_STORE_16x16x16_S32_GLOBAL_INTRIN: Final = "wmma_store_16x16x16_s32_global"
WMMA_STORE_8x8x32_S32_GLOBAL_INTRIN: Final = "wmma_store_8x8x32_s32_global"


def _register(shape: tuple[int, int, int], factor: str, results: list[str], ways: str) -> None:
    """All intrinsics of a shape and a type of factors; `ways` are the layouts of A and of B."""
    tag, short = "x".join(map(str, shape)), _SHORT[factor]
    for result in results:
        out = _SHORT[result]
        register_own(
            f"wmma_fill_{tag}_{out}", *get_wmma_fill_intrin(*shape, result), override=True
        )
        for scope in ("global", "shared", "shared.dyn"):
            name = f"wmma_store_{tag}_{out}_{scope.replace('.', '_')}"
            register_own(
                name, *get_wmma_store_intrin(*shape, result, scope), override=True
            )
        for trans in {way.endswith("trans") for way in ways.split() if way.startswith("b")}:
            name = f"wmma_sync_{tag}_{short}{short}{out}{'_trans' if trans else ''}"
            register_own(name, *get_wmma_sync_intrin(*shape, factor, result, trans))
    for way in ways.split():
        is_b, trans = way.startswith("b"), way.endswith("trans")
        for scope in ("shared", "shared.dyn"):
            name = f"wmma_load_{tag}_{short}_{way}_{scope.replace('.', '_')}"
            register_own(name, *get_wmma_load_intrin(*shape, factor, scope, is_b, trans))


_register((16, 16, 16), "float16", ["float32", "float16"], "a a_trans b b_trans")
_register((16, 16, 16), "bfloat16", ["float32"], "a a_trans b b_trans")
_register((16, 16, 16), "int8", ["int32"], "a a_trans b b_trans")
_register((8, 8, 32), "int4", ["int32"], "a b_trans")
