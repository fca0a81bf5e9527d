"""Products of 16x8 by 8x8 on fragments of scope "m16n8k8.matrixA", "B", "C" (PTX ISA, 9.7.14).

Schedules see fragments as matrices; `tir.TransformMmaBufferLayout` makes registers of them: a
thread has 8 elements of each tile of 32x8 of A and of 8x32 of B, and 4 of each 16x8 of C.
"""

# What is below is TVMScript: its annotations are calls, its names are buffers.
# mypy: ignore-errors

from __future__ import annotations

from typing import Any, Final

from tvm.ffi import register_global_func
from tvm.tir.buffer import Buffer
from tvm.tir.expr import PrimExpr
from tvm.tir.function import PrimFunc
from tvm.tir.intrin_registry import register_own
from tvm.tir.op.arith import const
from tvm.tir.script import language as T

from .matrix_steps import Tile, copy_meaning, copy_step, fill_meaning, product_step
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
    zero, tile = const(0, dtype), Tile(m_dim, n_dim, dtype, _SCOPE + "C")
    pair = n_dim // 4

    @T.prim_func
    def mma_init_impl(c: T.handle) -> None:
        dst = tile.match(c)
        with T.block("root"):
            T.reads()
            T.writes(tile.all(dst))
            for tx in T.thread_binding(0, _WARP, "threadIdx.x"):
                for b in T.unroll(m_dim // 8):
                    for v in T.vectorized(pair):
                        dst[b * 8 + tx // 4, tx % 4 * pair + v] = zero

    return fill_meaning(tile, "init", zero), mma_init_impl


def get_mma_load_intrin(
    m_dim: int, n_dim: int, k_dim: int, dtype: str, shared_scope: str, is_b: bool,
    is_col_major: bool,
) -> tuple[PrimFunc, PrimFunc]:  # fmt: skip
    """A tile of a factor from shared memory: four pieces of 8x8 at once."""
    scope = _SCOPE + ("B" if is_b else "A")
    rows, columns = (k_dim, n_dim) if is_b else (m_dim, k_dim)
    trans = is_b != is_col_major
    if is_col_major:
        rows, columns = columns, rows
    index = get_index_B if is_b else get_index_A

    def load(A: Buffer, C: Buffer, s1: PrimExpr, d1: PrimExpr, tx: PrimExpr) -> PrimExpr:
        row_offset = tx % 8 * s1 + tx // 8 * 8 if trans else tx * s1
        return T.ptx_ldmatrix(
            trans, 4, ".b16", C.data, index(C.elem_offset, d1), A.access_ptr("r"), row_offset,
            dtype=dtype,
        )  # fmt: skip

    tiles = (Tile(rows, columns, dtype, where) for where in (shared_scope, scope))
    return copy_step(*tiles, "load", load, warp=_WARP)


def get_mma_sync_intrin(
    m_dim: int, n_dim: int, k_dim: int, in_dtype: str, out_dtype: str, b_transposed: bool
) -> tuple[PrimFunc, PrimFunc]:
    """C += A @ B on fragments, or A @ B.T."""
    shape, in_word, out_word = f"m{m_dim}n{n_dim}k{k_dim}", _PTX[in_dtype], _PTX[out_dtype]

    def multiply(
        A: Buffer, B: Buffer, C: Buffer, a1: PrimExpr, b1: PrimExpr, c1: PrimExpr
    ) -> PrimExpr:
        return T.ptx_mma(
            shape, "row", "col", in_word, in_word, out_word,
            A.data, get_index_A(A.elem_offset, a1),
            B.data, get_index_B(B.elem_offset, b1),
            C.data, get_index_C(C.elem_offset, c1),
            False, dtype=out_dtype,
        )  # fmt: skip

    a = Tile(m_dim, k_dim, in_dtype, _SCOPE + "A")
    b_shape = (n_dim, k_dim) if b_transposed else (k_dim, n_dim)
    b = Tile(*b_shape, in_dtype, _SCOPE + "B")
    c = Tile(m_dim, n_dim, out_dtype, _SCOPE + "C")
    return product_step(a, b, c, "C", multiply, b_transposed)


def get_mma_store_dummy_intrin(
    m_dim: int, n_dim: int, k_dim: int, dtype: str
) -> tuple[PrimFunc, PrimFunc]:
    """A tile of C to memory, as loops: schedules spread them over the threads themselves."""
    tiles = (Tile(m_dim, n_dim, dtype, scope) for scope in (_SCOPE + "C", "shared.dyn"))
    desc = copy_meaning(*tiles, "store")
    return desc, desc


register_own("mma_init_m16n8k8_f16", get_mma_init_intrin, 16, 8, 8, "float16")
register_own("mma_init_m16n8k8_f32", get_mma_init_intrin, 16, 8, 8, "float32")
register_own(
    "mma_load_m16n8k8_f16_A_shared_dyn",
    get_mma_load_intrin, 32, 8, 8, "float16", "shared.dyn", False, False,
)
register_own(
    "mma_load_m16n8k8_f16_B_shared_dyn",
    get_mma_load_intrin, 32, 32, 8, "float16", "shared.dyn", True, False,
)
for _out in ("float16", "float32"):
    register_own(
        f"mma_sync_m16n8k8_f16f16{_SHORT[_out]}",
        get_mma_sync_intrin, 16, 8, 8, "float16", _out, False,
    )
    register_own(
        f"mma_store_m16n8k8_{_SHORT[_out]}_global", get_mma_store_dummy_intrin, 16, 8, 8, _out
    )
