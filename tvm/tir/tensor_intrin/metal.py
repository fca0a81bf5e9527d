"""Products of 8x8 matrices by the SIMD groups of Apple GPUs (Metal Shading Language, 6.7)."""

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

_SHORT: Final = {"float16": "f16", "float32": "f32", "bfloat16": "bf16"}
_SIMDGROUP: Final = "metal.simdgroup"


def get_simdgroup_index(buffer: Buffer, stride: PrimExpr, col: int, row: int) -> PrimExpr:
    """The number of the matrix that begins where a buffer of many begins."""
    return tile_number(buffer.elem_offset, stride, row, col)


def get_make_filled_simdgroup_matrix_intrin(
    dtype: str, col: int = 8, row: int = 8
) -> tuple[PrimFunc, PrimFunc]:
    """A matrix set to zero."""

    def fill(A: Buffer, d1: PrimExpr) -> PrimExpr:
        number = get_simdgroup_index(A, d1, col, row)
        return T.make_filled_simdgroup_matrix(A.data, number, T.float32(0), col, row)

    return fill_step(Tile(col, row, dtype, _SIMDGROUP), "init", const(0, dtype), fill)


def get_simdgroup_load_intrin(
    dtype: str,
    scope: Literal["global", "shared"],
    col: int = 8,
    row: int = 8,
    transpose_matrix: bool = False,
) -> tuple[PrimFunc, PrimFunc]:
    """A tile of memory to a matrix, its columns to rows if it is to be transposed."""

    def load(A: Buffer, C: Buffer, s1: PrimExpr, d1: PrimExpr) -> PrimExpr:
        number = get_simdgroup_index(C, d1, col, row)
        return T.simdgroup_load(
            C.data, number, A.access_ptr("r"), s1, col, row, transpose_matrix
        )

    tiles = (Tile(col, row, dtype, where) for where in (scope, _SIMDGROUP))
    return copy_step(*tiles, "load", load, transpose_matrix)


def get_simdgroup_store_intrin(
    dtype: str,
    scope: Literal["global", "shared"],
    col: int = 8,
    row: int = 8,
    transpose_matrix: bool = False,
) -> tuple[PrimFunc, PrimFunc]:
    """A matrix to a tile of memory, its rows to columns if it is to be transposed."""

    def store(A: Buffer, C: Buffer, s1: PrimExpr, d1: PrimExpr) -> PrimExpr:
        number = get_simdgroup_index(A, s1, col, row)
        return T.simdgroup_store(
            A.data, number, C.access_ptr("w"), d1, col, row, transpose_matrix
        )

    tiles = (Tile(col, row, dtype, where) for where in (_SIMDGROUP, scope))
    return copy_step(*tiles, "store", store, transpose_matrix)


def get_simdgroup_multiply_accumulate_intrin(
    m_dim: int, n_dim: int, k_dim: int, dtype: str
) -> tuple[PrimFunc, PrimFunc]:
    """C += A @ B."""
    shapes = (m_dim, k_dim), (k_dim, n_dim), (m_dim, n_dim)

    def multiply(
        A: Buffer, B: Buffer, C: Buffer, a1: PrimExpr, b1: PrimExpr, c1: PrimExpr
    ) -> PrimExpr:
        of_a, of_b, of_c = (
            (x.data, get_simdgroup_index(x, stride, *shape))
            for x, stride, shape in zip((A, B, C), (a1, b1, c1), shapes)
        )
        return T.simdgroup_multiply_accumulate(*of_c, *of_a, *of_b, *of_c)

    tiles = (Tile(*shape, dtype, _SIMDGROUP) for shape in shapes)
    return product_step(*tiles, "", multiply)


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
        register_own(
            f"simdgroup_make_filled_8x8x8_{short}", get_make_filled_simdgroup_matrix_intrin, dtype
        )
        register_own(
            f"simdgroup_multiply_accumulate_8x8x8_{short}",
            get_simdgroup_multiply_accumulate_intrin, 8, 8, 8, dtype,
        )  # fmt: skip
        for trans in (False, True):
            name = f"simdgroup_load_8x8x8_{short}_shared{'_trans' if trans else ''}"
            register_own(name, get_simdgroup_load_intrin, dtype, "shared", 8, 8, trans)
        for scope in ("global", "shared"):
            name = f"simdgroup_store_8x8x8_{short}_{scope}"
            register_own(name, get_simdgroup_store_intrin, dtype, scope)


_register()

SIMDGROUP_MAKE_FILLED_8x8x8_f16_INTRIN: Final = "simdgroup_make_filled_8x8x8_f16"
SIMDGROUP_FILLED_8x8x8_f32_INTRIN: Final = "simdgroup_make_filled_8x8x8_f32"
SIMDGROUP_FILLED_8x8x8_bf16_INTRIN: Final = "simdgroup_make_filled_8x8x8_bf16"
SIMDGROUP_LOAD_8x8x8_f16_SHARED_INTRIN: Final = "simdgroup_load_8x8x8_f16_shared"
SIMDGROUP_LOAD_8x8x8_f16_SHARED_TRANS_INTRIN: Final = "simdgroup_load_8x8x8_f16_shared_trans"
SIMDGROUP_STORE_8x8x8_f16_GLOBAL_INTRIN: Final = "simdgroup_store_8x8x8_f16_global"
SIMDGROUP_STORE_8x8x8_f16_SHARED_INTRIN: Final = "simdgroup_store_8x8x8_f16_shared"
SIMDGROUP_MULTI_ACC_8x8x8_f16_INTRIN: Final = "simdgroup_multiply_accumulate_8x8x8_f16"
