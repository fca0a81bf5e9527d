"""Products of matrices by the warps of a GPU, through fragments: CUDA's `wmma` (PTX ISA, 9.7.14).

A warp loads tiles of the factors into fragments, adds products to fragments of the result, and
stores those. Which thread holds which element of a fragment is up to the hardware.
"""

# What is below is TVMScript: its calls have no types.
# mypy: ignore-errors

from __future__ import annotations

from typing import Final, Literal

from tvm.tir.buffer import Buffer
from tvm.tir.expr import PrimExpr
from tvm.tir.function import PrimFunc
from tvm.tir.intrin_registry import register_own
from tvm.tir.op.arith import const
from tvm.tir.script import language as T

from .matrix_steps import Tile, copy_step, fill_step, product_step, tile_number

_SHORT: Final = {
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "int8": "s8", "int32": "s32",
    "int4": "s4",
}  # fmt: skip


def get_wmma_fragment_index(buffer: Buffer, stride: PrimExpr, m_dim: int, n_dim: int) -> PrimExpr:
    """The number of the fragment that begins where a buffer of many fragments begins."""
    return tile_number(buffer.elem_offset, stride, m_dim, n_dim)


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
    rows, columns = (k_dim, n_dim) if is_b else (m_dim, k_dim)
    if is_col_major:
        rows, columns = columns, rows

    def load(A: Buffer, C: Buffer, s1: PrimExpr, d1: PrimExpr) -> PrimExpr:
        fragment = get_wmma_fragment_index(C, d1, rows, columns)
        return T.tvm_load_matrix_sync(
            C.data, m_dim, n_dim, k_dim, fragment, A.access_ptr("r"), s1, layout, dtype="handle"
        )

    tiles = (Tile(rows, columns, dtype, where, columns) for where in (shared_scope, scope))
    return copy_step(*tiles, "load", load)


def get_wmma_fill_intrin(
    m_dim: int, n_dim: int, k_dim: int, dtype: str
) -> tuple[PrimFunc, PrimFunc]:
    """A fragment of the result set to zero."""

    def fill(C: Buffer, d1: PrimExpr) -> PrimExpr:
        fragment = get_wmma_fragment_index(C, d1, m_dim, n_dim)
        return T.tvm_fill_fragment(
            C.data, m_dim, n_dim, k_dim, fragment, T.float32(0), dtype="handle"
        )

    return fill_step(_accumulator(m_dim, n_dim, dtype), "init", const(0, dtype), fill)


def _accumulator(m_dim: int, n_dim: int, dtype: str) -> Tile:
    return Tile(m_dim, n_dim, dtype, "wmma.accumulator", n_dim)


def get_wmma_store_intrin(
    m_dim: int, n_dim: int, k_dim: int, dtype: str, scope: str
) -> tuple[PrimFunc, PrimFunc]:
    """A fragment of the result to memory."""

    def store(A: Buffer, C: Buffer, s1: PrimExpr, d1: PrimExpr) -> PrimExpr:
        fragment = get_wmma_fragment_index(A, s1, m_dim, n_dim)
        return T.tvm_store_matrix_sync(
            A.data, m_dim, n_dim, k_dim, fragment, C.access_ptr("w"), d1, "row_major",
            dtype="handle",
        )  # fmt: skip

    memory = Tile(m_dim, n_dim, dtype, scope, n_dim)
    return copy_step(_accumulator(m_dim, n_dim, dtype), memory, "store", store)


def get_wmma_sync_intrin(
    m_dim: int, n_dim: int, k_dim: int, in_dtype: str, out_dtype: str, b_transposed: bool
) -> tuple[PrimFunc, PrimFunc]:
    """C += A @ B on fragments, or A @ B.T."""
    a = Tile(m_dim, k_dim, in_dtype, "wmma.matrix_a", k_dim)
    b_shape = (n_dim, k_dim) if b_transposed else (k_dim, n_dim)
    b = Tile(*b_shape, in_dtype, "wmma.matrix_b", b_shape[1])

    def multiply(
        A: Buffer, B: Buffer, C: Buffer, a1: PrimExpr, b1: PrimExpr, c1: PrimExpr
    ) -> PrimExpr:
        of_c = C.data, get_wmma_fragment_index(C, c1, m_dim, n_dim)
        return T.tvm_mma_sync(
            *of_c,
            A.data, get_wmma_fragment_index(A, a1, m_dim, k_dim),
            B.data, get_wmma_fragment_index(B, b1, *b_shape),
            *of_c, dtype="handle",
        )  # fmt: skip

    c = _accumulator(m_dim, n_dim, out_dtype)
    return product_step(a, b, c, "", multiply, b_transposed)


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
            f"wmma_fill_{tag}_{out}", get_wmma_fill_intrin, *shape, result, override=True
        )
        for scope in ("global", "shared", "shared.dyn"):
            name = f"wmma_store_{tag}_{out}_{scope.replace('.', '_')}"
            register_own(
                name, get_wmma_store_intrin, *shape, result, scope, override=True
            )
        for trans in {way.endswith("trans") for way in ways.split() if way.startswith("b")}:
            name = f"wmma_sync_{tag}_{short}{short}{out}{'_trans' if trans else ''}"
            register_own(name, get_wmma_sync_intrin, *shape, factor, result, trans)
    for way in ways.split():
        is_b, trans = way.startswith("b"), way.endswith("trans")
        for scope in ("shared", "shared.dyn"):
            name = f"wmma_load_{tag}_{short}_{way}_{scope.replace('.', '_')}"
            register_own(name, get_wmma_load_intrin, *shape, factor, scope, is_b, trans)


_register((16, 16, 16), "float16", ["float32", "float16"], "a a_trans b b_trans")
_register((16, 16, 16), "bfloat16", ["float32"], "a a_trans b b_trans")
_register((16, 16, 16), "int8", ["int32"], "a a_trans b b_trans")
_register((8, 8, 32), "int4", ["int32"], "a b_trans")
