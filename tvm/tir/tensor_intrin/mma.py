"""Products of matrices by NVIDIA's `mma` and `ldmatrix` (PTX ISA, 9.7.14), in registers of a warp.

A tile lies in memory of scope "warp", (32, elements of a thread): which element of the tile that
is, says a layout. `ldmatrix` turns the pieces of 8x8 on the way where a factor lies the other way
around; the layouts stay those of the memory that it was loaded from, and `mma` undoes the turn.
"""

# What is below is TVMScript: its annotations are calls, its names are buffers.
# mypy: ignore-errors

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

from tvm.error import CheckError, message
from tvm.ffi import register_global_func
from tvm.target.gpu_model import MATRIX_THREADS
from tvm.tir.buffer import Buffer
from tvm.tir.expr import PrimExpr
from tvm.tir.function import PrimFunc
from tvm.tir.intrin_registry import register_own
from tvm.tir.op.arith import const
from tvm.tir.script import language as T

from .matrix_steps import (
    Coordinates,
    Tile,
    copy_meaning,
    fill_meaning,
    load_meaning,
    product_meaning,
)

_WARP: Final = MATRIX_THREADS["cuda"]
_M: Final = 16
_N: Final = 16
_SHORT: Final = {
    "float16": "f16", "float32": "f32", "int8": "i8", "int32": "i32", "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
}  # fmt: skip
# The words of the instruction.
_PTX: Final = {
    "float16": "fp16", "float32": "fp32", "int8": "int8", "int32": "int32",
    "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2",
}  # fmt: skip
_BYTES: Final = ("int8", "float8_e4m3fn", "float8_e5m2")


# --- layouts: where an element of a tile lies ---


def shared_16x16_to_ldmatrix_32x8_layout(i: Any, j: Any) -> Coordinates:
    """Thread and element of (i, j) in a tile of 16-bit factors, or of results."""
    return 4 * (i % 8) + (j % 8) // 2, 4 * (j // 8) + (i // 8) * 2 + (j % 2)


def shared_16x32_to_ldmatrix_32x16_layout(i: Any, j: Any) -> Coordinates:
    """Thread and element of (i, j) in a tile of 8-bit factors, whose rows are summed over."""
    return 4 * (i % 8) + (j % 16) // 4, 8 * (j // 16) + (i // 8) * 4 + j % 4


def shared_32x16_to_ldmatrix_32x16_layout(i: Any, j: Any) -> Coordinates:
    """Thread and element of (i, j) in a tile of 8-bit factors, whose columns are summed over."""
    return (i % 16) // 4 + 4 * (j % 8), 8 * (j // 8) + (i // 16) * 4 + i % 4


def ldmatrix_32x8_to_shared_16x16_layout(thread_id: Any, local_id: Any) -> Coordinates:
    """Row and column of an element of a thread; the inverse of the first."""
    row = 8 * (local_id % 4 // 2) + (thread_id // 4)
    column = 8 * (local_id // 4) + (thread_id % 4) * 2 + (local_id % 2)
    return row, column


@register_global_func("tir.index_map.shared_16x16_to_ldmatrix_32x8", override=True)
def index_map_shared_16x16_to_ldmatrix_32x8_layout(ind: Any) -> list[Any]:
    """The first layout, of a list of indices."""
    return [*shared_16x16_to_ldmatrix_32x8_layout(ind[0], ind[1])]


# --- loads ---


def get_ldmatrix_intrin(
    k_dim: int,
    dtype: str,
    matrix_name: Literal["A", "B"],
    transposed: bool,
    shared_scope: str = "shared",
) -> tuple[PrimFunc, PrimFunc]:
    """A tile of a factor from shared memory to registers."""
    rows, columns, layout, offset = _loaded(k_dim, dtype, matrix_name, transposed)
    local_size = _M * k_dim // _WARP
    trans = transposed == (matrix_name == "A")  # the instruction wants rows of A, columns of B
    source = Tile(rows, columns, dtype, shared_scope, columns)
    target = Tile(rows, columns, dtype, "warp", columns, layout, (_WARP, local_size))

    @T.prim_func
    def ldmatrix_impl(warp_handle: T.handle, shared_handle: T.handle) -> None:
        s0 = T.int32()
        s1 = T.int32()
        shared = source.match(shared_handle, [s0, s1])
        warp = target.match(warp_handle)
        with T.block("root"):
            T.reads(source.all(shared))
            T.writes(target.all(warp))
            for tx in T.thread_binding(0, _WARP, "threadIdx.x"):
                T.evaluate(
                    T.ptx_ldmatrix(
                        trans, 4, ".b16", warp.data, warp.elem_offset + local_size * tx,
                        shared.access_ptr("r"), offset(tx, s0), dtype=dtype,
                    )
                )  # fmt: skip

    return load_meaning(target, source, "shared_warp"), ldmatrix_impl


def _loaded(
    k_dim: int, dtype: str, matrix_name: str, transposed: bool
) -> tuple[int, int, Callable[..., Coordinates], Callable[..., PrimExpr]]:
    """Rows and columns in shared memory, the layout, and what address a thread gives."""
    is_b = matrix_name == "B"
    down = is_b != transposed  # what is summed over goes down
    rows, columns = (k_dim, _M) if down else (_M, k_dim)
    if k_dim == 16 and dtype == "float16":
        offset = _columns_first(8) if transposed else _rows_first(8)
        return rows, columns, shared_16x16_to_ldmatrix_32x8_layout, offset
    if k_dim == 32 and dtype in _BYTES and (is_b or not transposed):
        if down:  # the instruction turns pairs of bytes: the generated code reads one by one
            return rows, columns, shared_32x16_to_ldmatrix_32x16_layout, lambda _, stride: stride
        offset = _bytes_first if is_b else _rows_first(16)
        return rows, columns, shared_16x32_to_ldmatrix_32x16_layout, offset
    raise CheckError(
        message(
            "get_ldmatrix_intrin: load a tile for mma",
            found=f"k_dim={k_dim}, dtype={dtype}, matrix {matrix_name}, transposed={transposed}",
            legal="k_dim=16 for float16; k_dim=32 for int8 and float8, whose A is not transposed",
        )
    )


def _rows_first(width: int) -> Callable[..., PrimExpr]:
    """Threads 0 to 15 give the rows of the left half, the others those of the right one."""
    return lambda tx, stride: stride * (tx % 16) + width * (tx // 16)


def _columns_first(width: int) -> Callable[..., PrimExpr]:
    """Eight threads each for the pieces up left, up right, down left, down right."""
    return lambda tx, stride: (
        stride * 8 * (tx // 16) + stride * (tx % 8) + width * (tx % 16 // 8)
    )


def _bytes_first(tx: PrimExpr, stride: PrimExpr) -> PrimExpr:
    """The same of bytes, with the product of the rows as v0.22 writes it."""
    return stride * 8 * (tx // 16) + tx % 8 * stride + 16 * (tx % 16 // 8)


# --- products ---


def get_mma_intrin(
    k_dim: int,
    a_dtype: str = "float16",
    b_dtype: str = "float16",
    out_dtype: str = "float16",
    a_transposed: bool = False,
    b_transposed: bool = False,
) -> tuple[PrimFunc, PrimFunc]:
    """C += A @ B on tiles in registers, by two products of 16x8."""
    local_size, local_size_out = _M * k_dim // _WARP, _M * _N // _WARP
    half, half_out = local_size // 2, local_size_out // 2
    shape = f"m16n8k{k_dim}"
    words = [_PTX[_known(t)] for t in (a_dtype, b_dtype, out_dtype)]
    spread = _WARP, local_size
    a_layout, b_layout = _factor_layouts(k_dim, b_transposed)
    a_shape = (k_dim, _M) if a_transposed else (_M, k_dim)
    b_shape = (_N, k_dim) if b_transposed else (k_dim, _N)
    a = Tile(*a_shape, a_dtype, "warp", k_dim, a_layout, spread)
    b = Tile(*b_shape, b_dtype, "warp", b_shape[1], b_layout, spread)
    c = _in_registers(out_dtype, local_size_out, _N)

    def multiply(A: Buffer, B: Buffer, C: Buffer, tx: PrimExpr, right: bool) -> PrimExpr:
        """The left half of the columns of B, or the right one."""
        return T.ptx_mma(
            shape, "row", "col", *words,
            A.data, A.elem_offset + tx * local_size,
            B.data, B.elem_offset + tx * local_size + half * right,
            C.data, C.elem_offset + tx * local_size_out + half_out * right,
            False, dtype=out_dtype,
        )  # fmt: skip

    @T.prim_func
    def mma_sync_impl(a_handle: T.handle, b_handle: T.handle, c_handle: T.handle) -> None:
        A = a.match(a_handle)
        B = b.match(b_handle)
        C = c.match(c_handle)
        with T.block("root"):
            T.reads(c.all(C), a.all(A), b.all(B))
            T.writes(c.all(C))
            for tx in T.thread_binding(0, _WARP, "threadIdx.x"):
                T.evaluate(multiply(A, B, C, tx, False))
                T.evaluate(multiply(A, B, C, tx, True))

    return product_meaning(a, b, c, "C", a_transposed, b_transposed), mma_sync_impl


def _in_registers(dtype: str, local_size: int, offset_factor: int = 1) -> Tile:
    """A tile of the result in registers."""
    layout = shared_16x16_to_ldmatrix_32x8_layout
    return Tile(_M, _N, dtype, "warp", offset_factor, layout, (_WARP, local_size))


def _factor_layouts(
    k_dim: int, b_transposed: bool
) -> tuple[Callable[..., Coordinates], Callable[..., Coordinates]]:
    if k_dim == 16:
        return shared_16x16_to_ldmatrix_32x8_layout, shared_16x16_to_ldmatrix_32x8_layout
    if k_dim == 32:
        along, down = shared_16x32_to_ldmatrix_32x16_layout, shared_32x16_to_ldmatrix_32x16_layout
        return along, along if b_transposed else down
    raise CheckError(
        message("get_mma_intrin: multiply tiles", found=f"k_dim={k_dim}", legal="k_dim 16 or 32")
    )


def _known(dtype: str) -> str:
    if dtype not in _PTX:
        raise CheckError(
            message("get_mma_intrin: multiply tiles", found=dtype, legal=", ".join(_PTX))
        )
    return dtype


# --- results ---


def get_mma_fill_intrin(dtype: str, local_size: int) -> tuple[PrimFunc, PrimFunc]:
    """A tile of the result set to zero."""
    c = _in_registers(dtype, local_size)

    @T.prim_func
    def mma_fill_impl(a: T.handle) -> None:
        C_warp = c.match(a)
        with T.block("root"):
            T.reads()
            T.writes(c.all(C_warp))
            for tx in T.thread_binding(0, _WARP, "threadIdx.x"):  # noqa: B007
                T.evaluate(T.mma_fill(local_size, C_warp.data, C_warp.elem_offset, dtype=dtype))

    return fill_meaning(c.compact(), "C_warp", const(0, dtype)), mma_fill_impl


def get_mma_store_intrin(
    dtype: str, local_size: int, scope: str = "global", use_mma_store_intrinic: bool = True
) -> tuple[PrimFunc, PrimFunc]:
    """A tile of the result to memory: by one call, or by stores of pairs, which can be fused."""
    source, target = _in_registers(dtype, local_size), Tile(_M, _N, dtype, scope)
    coordinates = ldmatrix_32x8_to_shared_16x16_layout

    @T.prim_func
    def mma_store_impl(a: T.handle, c: T.handle) -> None:
        s0 = T.int32()
        s1 = T.int32()
        C_warp = source.match(a)
        C = target.match(c, [s0, s1])
        with T.block("root"):
            T.reads(source.all(C_warp))
            T.writes(target.all(C))
            for tx in T.thread_binding(0, _WARP, "threadIdx.x"):
                if use_mma_store_intrinic:
                    T.evaluate(
                        T.mma_store(
                            _M, _N, C.access_ptr("w"), C_warp.data, C_warp.elem_offset, s0,
                            dtype=dtype,
                        )
                    )  # fmt: skip
                else:
                    for local_id_o in T.serial(local_size // 2):
                        for local_id_i in T.vectorized(2):
                            row, column = T.meta_var(coordinates(tx, local_id_o * 2 + local_id_i))
                            C[row, column] = C_warp[tx, local_id_o * 2 + local_id_i]

    return copy_meaning(source.compact(), target.compact(), "C_warp"), mma_store_impl


# --- names ---


def get_mma_intrin_group(
    load_scope: Literal["shared", "shared.dyn"],
    store_scope: Literal["global", "shared", "shared.dyn"],
    in_dtype: Literal["float16", "int8", "float8_e4m3fn", "float8_e5m2"],
    out_dtype: Literal["float16", "float32", "int32"],
    trans_a: bool,
    trans_b: bool,
    not_use_mma_store_intrinic: bool = True,
    store_to_smem_dtype: Literal["float16", "float32", "int32"] | None = None,
) -> dict[str, Any]:
    """The names of the five steps of a product, the layouts, and the size of a step."""
    _one_of("load_scope", load_scope, ("shared", "shared.dyn"))
    _one_of("store_scope", store_scope, ("global", "shared", "shared.dyn"))
    _one_of("in_dtype", in_dtype, ("float16", *_BYTES))
    _one_of("out_dtype", out_dtype, ("float16", "float32", "int32"))
    factor, result = _SHORT[in_dtype], _SHORT[out_dtype]
    stored = _SHORT[store_to_smem_dtype or out_dtype]
    dyn = "_dyn" if load_scope == "shared.dyn" else ""
    trans = ["_trans" if flag else "" for flag in (trans_a, trans_b)]
    sides = [f"_trans_{name}" if flag else "" for name, flag in (("a", trans_a), ("b", trans_b))]
    simple = "simple_" if not_use_mma_store_intrinic else ""
    down = shared_32x16_to_ldmatrix_32x16_layout
    k_dim = 16 if in_dtype == "float16" else 32
    along, b_layout = _factor_layouts(k_dim, trans_b)
    return {
        "init": f"mma_fill_16x16_{result}",
        "load_a": f"mma_ldmatrix_{factor}_a{trans[0]}{dyn}",
        "load_b": f"mma_ldmatrix_{factor}_b{trans[1]}{dyn}",
        "compute": f"mma_{factor}{factor}{result}{''.join(sides)}",
        "store": f"mma_store_16x16_{stored}_{store_scope.replace('.', '_')}_{simple}",
        "index_map_a": down if trans_a and k_dim == 32 else along,
        "index_map_b": b_layout,
        "index_map_c": shared_16x16_to_ldmatrix_32x8_layout,
        "micro_kernel": [_M, _N, k_dim],
    }


def _one_of(name: str, value: str, legal: tuple[str, ...]) -> None:
    if value not in legal:
        raise ValueError(
            f"get_mma_intrin_group: {name} is {value!r}; legal: {', '.join(legal)}"
        )


LDMATRIX_f16_A_INTRIN: Final = "mma_ldmatrix_f16_a"
LDMATRIX_f16_A_DYN_INTRIN: Final = "mma_ldmatrix_f16_a_dyn"
LDMATRIX_f16_B_INTRIN: Final = "mma_ldmatrix_f16_b"
LDMATRIX_f16_B_DYN_INTRIN: Final = "mma_ldmatrix_f16_b_dyn"
LDMATRIX_f16_A_TRANS_INTRIN: Final = "mma_ldmatrix_f16_a_trans"
LDMATRIX_f16_A_TRANS_DYN_INTRIN: Final = "mma_ldmatrix_f16_a_trans_dyn"
LDMATRIX_f16_B_TRANS_INTRIN: Final = "mma_ldmatrix_f16_b_trans"
LDMATRIX_f16_B_TRANS_DYN_INTRIN: Final = "mma_ldmatrix_f16_b_trans_dyn"
LDMATRIX_i8_A_INTRIN: Final = "mma_ldmatrix_i8_a"
LDMATRIX_i8_B_INTRIN: Final = "mma_ldmatrix_i8_b"
LDMATRIX_i8_B_TRANS_INTRIN: Final = "mma_ldmatrix_i8_b_trans"
LDMATRIX_e4m3_A_INTRIN: Final = "mma_ldmatrix_e4m3_a"
LDMATRIX_e4m3_B_INTRIN: Final = "mma_ldmatrix_e4m3_b"
LDMATRIX_e4m3_B_TRANS_INTRIN: Final = "mma_ldmatrix_e4m3_b_trans"
LDMATRIX_e5m2_A_INTRIN: Final = "mma_ldmatrix_e5m2_a"
LDMATRIX_e5m2_B_INTRIN: Final = "mma_ldmatrix_e5m2_b"
LDMATRIX_e5m2_B_TRANS_INTRIN: Final = "mma_ldmatrix_e5m2_b_trans"
MMA_f16f16f32_INTRIN: Final = "mma_f16f16f32"
MMA_f16f16f32_TRANS_A_INTRIN: Final = "mma_f16f16f32_trans_a"
MMA_f16f16f32_TRANS_B_INTRIN: Final = "mma_f16f16f32_trans_b"
MMA_f16f16f32_TRANS_A_TRANS_B_INTRIN: Final = "mma_f16f16f32_trans_a_trans_b"
MMA_f16f16f16_INTRIN: Final = "mma_f16f16f16"
MMA_f16f16f16_TRANS_A_INTRIN: Final = "mma_f16f16f16_trans_a"
MMA_f16f16f16_TRANS_B_INTRIN: Final = "mma_f16f16f16_trans_b"
MMA_f16f16f16_TRANS_A_TRANS_B_INTRIN: Final = "mma_f16f16f16_trans_a_trans_b"
MMA_i8i8i32_INTRIN: Final = "mma_i8i8i32"
MMA_i8i8i32_TRANS_B_INTRIN: Final = "mma_i8i8i32_trans_b"
MMA_e4m3e4m3f32_INTRIN: Final = "mma_e4m3e4m3f32"
MMA_e4m3e4m3f32_TRANS_B_INTRIN: Final = "mma_e4m3e4m3f32_trans_b"
MMA_e5m2e5m2f32_INTRIN: Final = "mma_e5m2e5m2f32"
MMA_e5m2e5m2f32_TRANS_B_INTRIN: Final = "mma_e5m2e5m2f32_trans_b"
MMA_fill_16x16_f32_INTRIN: Final = "mma_fill_16x16_f32"
MMA_fill_16x16_f16_INTRIN: Final = "mma_fill_16x16_f16"
MMA_fill_16x16_i32_INTRIN: Final = "mma_fill_16x16_i32"
MMA_store_16x16_f32_global_INTRIN: Final = "mma_store_16x16_f32_global_"
MMA_store_16x16_f32_shared_dyn_INTRIN: Final = "mma_store_16x16_f32_shared_dyn_"
MMA_store_16x16_f32_shared_dyn_INTRIN_SIMPLE: Final = "mma_store_16x16_f32_shared_dyn_simple_"
MMA_store_16x16_f16_shared_dyn_INTRIN_SIMPLE: Final = "mma_store_16x16_f16_shared_dyn_simple_"
MMA_store_16x16_f16_global_INTRIN: Final = "mma_store_16x16_f16_global_"
MMA_store_16x16_i32_global_INTRIN: Final = "mma_store_16x16_i32_global_"


def _register_factors(dtype: str, k_dim: int, results: list[str], a_ways: list[bool]) -> None:
    """The loads and products of a type; `a_ways` says whether A may lie transposed."""
    for scope, dyn in (("shared", ""), ("shared.dyn", "_dyn")):
        for matrix, ways in (("A", a_ways), ("B", [False, True])):
            for trans in ways:
                name = f"mma_ldmatrix_{_SHORT[dtype]}_{matrix.lower()}{'_trans' * trans}{dyn}"
                register_own(name, get_ldmatrix_intrin, k_dim, dtype, matrix, trans, scope)
    for out in results:
        for a in a_ways:
            for b in (False, True):
                name = f"mma_{_SHORT[dtype] * 2}{_SHORT[out]}{'_trans_a' * a}{'_trans_b' * b}"
                register_own(name, get_mma_intrin, k_dim, dtype, dtype, out, a, b)


_register_factors("float16", 16, ["float32", "float16"], [False, True])
for _byte, _result in zip(_BYTES, ("int32", "float32", "float32")):
    _register_factors(_byte, 32, [_result], [False])
for _result in ("float32", "float16", "int32"):
    _name = f"16x16_{_SHORT[_result]}"
    register_own(f"mma_fill_{_name}", get_mma_fill_intrin, _result, 8)
    for _scope in ("global", "shared", "shared.dyn"):
        for _way, _call in (("", True), ("simple_", False)):
            register_own(
                f"mma_store_{_name}_{_scope.replace('.', '_')}_{_way}",
                get_mma_store_intrin, _result, 8, _scope, _call,
            )
