"""Products of 8x8 matrices by the SIMD groups of Apple GPUs (Metal Shading Language, 6.7)."""

# What is below is TVMScript: its annotations are calls, its names are buffers.
# mypy: ignore-errors

from __future__ import annotations

from typing import Final, Literal

from tvm.tir.buffer import Buffer
from tvm.tir.expr import PrimExpr
from tvm.tir.function import PrimFunc
from tvm.tir.intrin_registry import register_own
from tvm.tir.script import language as T

_SHORT: Final = {"float16": "f16", "float32": "f32", "bfloat16": "bf16"}
_SIMDGROUP: Final = "metal.simdgroup"


def get_simdgroup_index(buffer: Buffer, stride: PrimExpr, col: int, row: int) -> PrimExpr:
    """The number of the matrix that begins where a buffer of many begins."""
    down = buffer.elem_offset // stride // row
    along = buffer.elem_offset % stride // col
    return down * (stride // col) + along


def get_make_filled_simdgroup_matrix_intrin(
    dtype: str, col: int = 8, row: int = 8
) -> tuple[PrimFunc, PrimFunc]:
    """A matrix set to zero."""

    @T.prim_func
    def desc(a: T.handle) -> None:
        A = T.match_buffer(a, (col, row), dtype, scope=_SIMDGROUP, offset_factor=1)
        with T.block("root"):
            T.reads()
            T.writes(A[0:col, 0:row])
            for i, j in T.grid(col, row):
                with T.block("init"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    A[vi, vj] = T.cast(0.0, dtype)

    @T.prim_func
    def impl(a: T.handle) -> None:
        d1 = T.int32()
        d0 = T.int32()
        A = T.match_buffer(
            a, (col, row), dtype, scope=_SIMDGROUP, strides=[d1, d0], offset_factor=1
        )
        with T.block("root"):
            T.reads()
            T.writes(A[0:col, 0:row])
            T.make_filled_simdgroup_matrix(
                A.data, get_simdgroup_index(A, d1, col, row), T.float32(0), col, row
            )

    return desc, impl


def _copy(
    dtype: str, source: str, target: str, col: int, row: int, transposed: bool, name: str
) -> PrimFunc:
    """What copying a tile from one scope to another means."""

    def coordinates(i: PrimExpr, j: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        return (j, i) if transposed else (i, j)

    @T.prim_func
    def desc(a: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (col, row), dtype, scope=source, offset_factor=1)
        C = T.match_buffer(c, (col, row), dtype, scope=target, offset_factor=1)
        with T.block("root"):
            T.reads(A[0:col, 0:row])
            T.writes(C[0:col, 0:row])
            for i, j in T.grid(col, row):
                with T.block(name):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[coordinates(vi, vj)] = A[vi, vj]

    return desc


def get_simdgroup_load_intrin(
    dtype: str,
    scope: Literal["global", "shared"],
    col: int = 8,
    row: int = 8,
    transpose_matrix: bool = False,
) -> tuple[PrimFunc, PrimFunc]:
    """A tile of memory to a matrix, its columns to rows if it is to be transposed."""
    desc = _copy(dtype, scope, _SIMDGROUP, col, row, transpose_matrix, "load")

    @T.prim_func
    def impl(a: T.handle, c: T.handle) -> None:
        s1 = T.int32()
        s0 = T.int32()
        d1 = T.int32()
        d0 = T.int32()
        A = T.match_buffer(
            a, (col, row), dtype, scope=scope, strides=[s1, s0], offset_factor=1
        )
        C = T.match_buffer(
            c, (col, row), dtype, scope=_SIMDGROUP, strides=[d1, d0], offset_factor=1
        )
        with T.block("root"):
            T.reads(A[0:col, 0:row])
            T.writes(C[0:col, 0:row])
            T.simdgroup_load(
                C.data, get_simdgroup_index(C, d1, col, row), A.access_ptr("r"), s1, col, row,
                transpose_matrix,
            )  # fmt: skip

    return desc, impl


def get_simdgroup_store_intrin(
    dtype: str,
    scope: Literal["global", "shared"],
    col: int = 8,
    row: int = 8,
    transpose_matrix: bool = False,
) -> tuple[PrimFunc, PrimFunc]:
    """A matrix to a tile of memory, its rows to columns if it is to be transposed."""
    desc = _copy(dtype, _SIMDGROUP, scope, col, row, transpose_matrix, "store")

    @T.prim_func
    def impl(a: T.handle, c: T.handle) -> None:
        s1 = T.int32()
        s0 = T.int32()
        d1 = T.int32()
        d0 = T.int32()
        A = T.match_buffer(
            a, (col, row), dtype, scope=_SIMDGROUP, strides=[s1, s0], offset_factor=1
        )
        C = T.match_buffer(
            c, (col, row), dtype, scope=scope, strides=[d1, d0], offset_factor=1
        )
        with T.block("root"):
            T.reads(A[0:col, 0:row])
            T.writes(C[0:col, 0:row])
            T.simdgroup_store(
                A.data, get_simdgroup_index(A, s1, col, row), C.access_ptr("w"), d1, col, row,
                transpose_matrix,
            )  # fmt: skip

    return desc, impl


def get_simdgroup_multiply_accumulate_intrin(
    m_dim: int, n_dim: int, k_dim: int, dtype: str
) -> tuple[PrimFunc, PrimFunc]:
    """C += A @ B."""

    @T.prim_func
    def desc(a: T.handle, b: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (m_dim, k_dim), dtype, scope=_SIMDGROUP, offset_factor=1)
        B = T.match_buffer(b, (k_dim, n_dim), dtype, scope=_SIMDGROUP, offset_factor=1)
        C = T.match_buffer(c, (m_dim, n_dim), dtype, scope=_SIMDGROUP, offset_factor=1)
        with T.block("root"):
            T.reads(C[0:m_dim, 0:n_dim], A[0:m_dim, 0:k_dim], B[0:k_dim, 0:n_dim])
            T.writes(C[0:m_dim, 0:n_dim])
            for i, j, k in T.grid(m_dim, n_dim, k_dim):
                with T.block(""):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    @T.prim_func
    def impl(a: T.handle, b: T.handle, c: T.handle) -> None:
        a1 = T.int32()
        a0 = T.int32()
        b1 = T.int32()
        b0 = T.int32()
        c1 = T.int32()
        c0 = T.int32()
        A = T.match_buffer(
            a, (m_dim, k_dim), dtype, scope=_SIMDGROUP, strides=[a1, a0], offset_factor=1
        )
        B = T.match_buffer(
            b, (k_dim, n_dim), dtype, scope=_SIMDGROUP, strides=[b1, b0], offset_factor=1
        )
        C = T.match_buffer(
            c, (m_dim, n_dim), dtype, scope=_SIMDGROUP, strides=[c1, c0], offset_factor=1
        )
        with T.block("root"):
            T.reads(C[0:m_dim, 0:n_dim], A[0:m_dim, 0:k_dim], B[0:k_dim, 0:n_dim])
            T.writes(C[0:m_dim, 0:n_dim])
            T.simdgroup_multiply_accumulate(
                C.data, get_simdgroup_index(C, c1, m_dim, n_dim),
                A.data, get_simdgroup_index(A, a1, m_dim, k_dim),
                B.data, get_simdgroup_index(B, b1, k_dim, n_dim),
                C.data, get_simdgroup_index(C, c1, m_dim, n_dim),
            )  # fmt: skip

    return desc, impl


def get_simdgroup_intrin_group(
    load_scope: Literal["shared"],
    store_scope: Literal["global", "shared"],
    dtype: str,
    trans_a: bool = False,
    trans_b: bool = False,
) -> dict[str, str]:
    """The names of the intrinsics that belong together, by what they do."""
    for name, found, legal in (
        ("load_scope", load_scope, ("shared",)), ("store_scope", store_scope, ("global", "shared")),
        ("dtype", dtype, tuple(_SHORT)),
    ):  # fmt: skip
        if found not in legal:
            raise ValueError(
                f"get_simdgroup_intrin_group: {name} is {found!r}; legal: {', '.join(legal)}"
            )
    short = _SHORT[dtype]
    load = f"simdgroup_load_8x8x8_{short}_{load_scope}"
    return {
        "init": f"simdgroup_make_filled_8x8x8_{short}",
        "load_a": load + ("_trans" if trans_a else ""),
        "load_b": load + ("_trans" if trans_b else ""),
        "compute": f"simdgroup_multiply_accumulate_8x8x8_{short}",
        "store": f"simdgroup_store_8x8x8_{short}_{store_scope}",
    }


def _register() -> None:
    for dtype, short in _SHORT.items():
        filled = get_make_filled_simdgroup_matrix_intrin(dtype)
        product = get_simdgroup_multiply_accumulate_intrin(8, 8, 8, dtype)
        register_own(f"simdgroup_make_filled_8x8x8_{short}", *filled)
        register_own(f"simdgroup_multiply_accumulate_8x8x8_{short}", *product)
        for trans in (False, True):
            name = f"simdgroup_load_8x8x8_{short}_shared{'_trans' if trans else ''}"
            load = get_simdgroup_load_intrin(dtype, "shared", transpose_matrix=trans)
            register_own(name, *load)
        for scope in ("global", "shared"):
            name = f"simdgroup_store_8x8x8_{short}_{scope}"
            register_own(name, *get_simdgroup_store_intrin(dtype, scope))


_register()

SIMDGROUP_MAKE_FILLED_8x8x8_f16_INTRIN: Final = "simdgroup_make_filled_8x8x8_f16"
SIMDGROUP_FILLED_8x8x8_f32_INTRIN: Final = "simdgroup_make_filled_8x8x8_f32"
SIMDGROUP_FILLED_8x8x8_bf16_INTRIN: Final = "simdgroup_make_filled_8x8x8_bf16"
SIMDGROUP_LOAD_8x8x8_f16_SHARED_INTRIN: Final = "simdgroup_load_8x8x8_f16_shared"
SIMDGROUP_LOAD_8x8x8_f16_SHARED_TRANS_INTRIN: Final = "simdgroup_load_8x8x8_f16_shared_trans"
SIMDGROUP_STORE_8x8x8_f16_GLOBAL_INTRIN: Final = "simdgroup_store_8x8x8_f16_global"
SIMDGROUP_STORE_8x8x8_f16_SHARED_INTRIN: Final = "simdgroup_store_8x8x8_f16_shared"
SIMDGROUP_MULTI_ACC_8x8x8_f16_INTRIN: Final = "simdgroup_multiply_accumulate_8x8x8_f16"
