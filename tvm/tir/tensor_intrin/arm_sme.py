"""Matrix instructions of Arm processors: the Scalable Matrix Extension (SME).

Its storage ZA holds four tiles of SVL x SVL floats, where SVL = 4 * vscale is how many floats a
scalable vector has. A tile takes a vector as a row or a column, and adds outer products:

    transposes   ld1 rows of A -> ZA,  st1 columns of ZA -> A_t       (2 SVL, 2 SVL) or halves
    gemm         ZA += A[k, :] x B[k, :] for each k,  then ZA -> C    (2 SVL, 2 SVL) of C

The sums of a product live in ZA between `init` and `gemm`, so a `gemm` reduces the whole of k.
The function around needs ZA and streaming mode, which it gets by the pragmas
`pragma_aarch64_pstate_sm="aarch64_pstate_sm_body"` and `pragma_aarch64_pstate_za="aarch64_new_za"`.
"""

# What is below is TVMScript: its annotations are calls, its names are buffers.
# mypy: ignore-errors

from __future__ import annotations

from typing import Any, Final

from tvm.ir.expr import PrimExpr
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.intrin_registry import register_own
from tvm.tir.op import get_vscale_expr, vscale
from tvm.tir.script import language as T

Pair = tuple[PrimFunc, PrimFunc]

ARM_SME_INIT: Final = "sme_init"
ARM_SME_2SVLx2SVL_FP32_TRANSPOSE_INTERLEAVE: Final = "sme_2svlx2svl_fp32_transpose_interleave"
ARM_SME_BLOCK2_2SVLx1SVL_FP16_TRANSPOSE_INTERLEAVE: Final = (
    "sme_block2_2svlx1svl_fp16_transpose_interleave"
)
ARM_SME_2SVLx2SVL_GEMM_INTERLEAVED_MOPA: Final = "sme_2svlx2svl_gemm_interleaved_mopa"
_ALL_TILES: Final = 255


def _lanes_in(
    tensor: Buffer, element: tuple[Any, Any], rows: Any, cols: Any, dtype: str
) -> PrimExpr:
    """The lanes from an element on that lie inside of the matrix of rows x cols around the tensor.

    Rows of that matrix lie next to each other, so the tensor's own corner tells where it stands;
    None leaves rows or columns without a limit of their own.
    """
    stride = T.Cast("int32", tensor.strides[0])
    corner = T.Cast("int32", tensor.offset_of((0, 0))[0])
    row = corner // stride + T.Cast("int32", element[0])
    col = corner % stride + T.Cast("int32", element[1])
    limit = stride if cols is None else T.min(stride, cols)
    if rows is not None:
        limit = T.Select(row < rows, limit, T.int32(0))
    return T.get_active_lane_mask(dtype, col, limit)


def _transposes(
    height: Any, width: Any, tiles: list[tuple[Any, Any]], dtype: str, size: Any,
    rows: Any, cols: Any,
) -> Pair:  # fmt: skip
    """A transpose of height x width through tiles of size x size, whose corners are given."""
    letter = {"float32": "w", "float16": "h"}[dtype]
    mask = f"uint1xvscalex{128 // int(dtype[-2:])}"
    load, store = f"llvm.aarch64.sme.ld1{letter}.horiz", f"llvm.aarch64.sme.st1{letter}.vert"

    @T.prim_func
    def desc(a: T.handle, a_t: T.handle) -> None:
        A = T.match_buffer(a, (height, width), dtype, offset_factor=1)
        A_t = T.match_buffer(a_t, (width, height), dtype, offset_factor=1)
        with T.block("root"):
            T.reads(A[0:height, 0:width])
            T.writes(A_t[0:width, 0:height])
            for k, m in T.grid(width, height):
                with T.block("transpose"):
                    v_m, v_k = T.axis.remap("SS", [m, k])
                    A_t[v_k, v_m] = A[v_m, v_k]

    @T.macro
    def move(word, tensor, row, col, inside, tile, slice_at):
        T.evaluate(
            T.call_llvm_intrin(
                "void", word, _lanes_in(tensor, (row, col), *inside, mask),
                T.address_of(tensor[row, col]), T.int32(tile), T.Cast("int32", slice_at),
            )
        )  # fmt: skip

    @T.macro
    def move_all(word, tensor, corners, inside, slice_at, done):
        move(word, tensor, corners[0][0] + slice_at, corners[0][1], inside, done, slice_at)
        if len(corners) > 1:
            move_all(word, tensor, corners[1:], inside, slice_at, done + 1)

    transposed = [(col, row) for row, col in tiles]

    @T.prim_func
    def impl(a: T.handle, a_t: T.handle) -> None:
        A = T.match_buffer(
            a, (height, width), dtype, offset_factor=1, strides=[T.int32(), T.int32(1)]
        )
        A_t = T.match_buffer(
            a_t, (width, height), dtype, offset_factor=1, strides=[T.int32(), T.int32(1)]
        )
        with T.block("root"):
            T.reads(A[0:height, 0:width])
            T.writes(A_t[0:width, 0:height])
            for row in T.serial(size):
                move_all(load, A, tiles, (rows, cols), row, 0)
            for col in T.serial(size):
                move_all(store, A_t, transposed, (cols, None), col, 0)

    return desc, impl


def get_sme_transpose_interleave_2svlx2svl_fp32_intrin(cols: Any, rows: Any) -> Pair:
    """A[m, k] -> A_t[k, m] of 2 SVL x 2 SVL floats, of a matrix of rows x cols."""
    one = get_vscale_expr("float32")
    both = 2 * one
    corners = [(0, 0), (0, one), (one, 0), (one, one)]
    return _transposes(both, both, corners, "float32", one, rows, cols)


def get_sme_transpose_interleave_block2_2svl_fp16_intrin() -> Pair:
    """A[m, k] -> A_t[k, m] of two tiles of halves, one below the other."""
    one = get_vscale_expr("float16")
    return _transposes(2 * one, one, [(0, 0), (one, 0)], "float16", one, None, None)


def get_transpose_interleave_intrin_name(
    in_dtype: str, out_dtype: str, extent_cols: Any, extent_rows: Any
) -> str:
    """The registered transpose for a product of such types, for a matrix of these extents."""
    if (in_dtype, out_dtype) == ("float32", "float32"):
        name = f"{ARM_SME_2SVLx2SVL_FP32_TRANSPOSE_INTERLEAVE}_{extent_cols}_{extent_rows}"
        make = get_sme_transpose_interleave_2svlx2svl_fp32_intrin
        register_own(name, make, extent_cols, extent_rows, override=True)
        return name
    if (in_dtype, out_dtype) == ("float16", "float32"):
        return ARM_SME_BLOCK2_2SVLx1SVL_FP16_TRANSPOSE_INTERLEAVE
    raise ValueError(
        f"Input/output data type combination not supported: {in_dtype} to {out_dtype}; "
        "legal: float32 to float32, float16 to float32"
    )


def get_sme_gemm_interleaved_mopa_2svlx2svl_intrin(M: Any, K: Any, in_dtype: str) -> Pair:
    """C[m, n] += sum(A[k, m] * B[k, n] for k in range(K)) for 2 SVL x 2 SVL of M rows of C.

    Float32 adds the outer products of two pairs of vectors a step; of float16 an instruction adds
    two steps at once, whose values stand next to each other.
    """
    if in_dtype not in ("float32", "float16"):
        raise ValueError(f"Input data type not supported: {in_dtype}; legal: float32, float16")
    one = get_vscale_expr("float32")
    both = 2 * one
    lanes = 128 // int(in_dtype[-2:])
    vector, mask, kind = f"{in_dtype}xvscalex{lanes}", f"uint1xvscalex{lanes}", f"nxv{lanes}"
    kind += f"f{in_dtype[-2:]}"
    wide = "" if in_dtype == "float32" else ".wide"
    steps = 1 if in_dtype == "float32" else 2
    corners = [(0, 0), (0, one), (one, 0), (one, one)]

    @T.prim_func
    def desc(a: T.handle, b: T.handle, c: T.handle) -> None:
        A = T.match_buffer(a, (K, both), in_dtype, offset_factor=1)
        B = T.match_buffer(b, (K, both), in_dtype, offset_factor=1)
        C = T.match_buffer(c, (both, both), "float32", offset_factor=1)
        with T.block("root"):
            T.reads(C[0:both, 0:both], A[0:K, 0:both], B[0:K, 0:both])
            T.writes(C[0:both, 0:both])
            for m, n, k in T.grid(both, both, K):
                with T.block("gemm"):
                    v_m, v_n, v_k = T.axis.remap("SSR", [m, n, k])
                    C[v_m, v_n] += T.Cast("float32", A[v_k, v_m]) * T.Cast("float32", B[v_k, v_n])

    def loaded(tensor: Buffer, k: Any, col: Any) -> PrimExpr:
        # a masked load gives zeros outside, which add nothing
        inside = _lanes_in(tensor, (k, col), K, None, mask)
        return T.call_llvm_intrin(
            vector, f"llvm.aarch64.sve.ld1.{kind}", inside, T.address_of(tensor[k, col])
        )

    def halves(tensor: Buffer, k: Any) -> list[PrimExpr]:
        """The values of 2 SVL rows or columns, as two vectors."""
        if steps == 1:
            return [loaded(tensor, k, 0), loaded(tensor, k, one)]
        first, second = loaded(tensor, k, 0), loaded(tensor, k + 1, 0)
        return [
            T.call_llvm_pure_intrin(vector, f"llvm.aarch64.sve.zip{i}.{kind}", first, second)
            for i in (1, 2)
        ]

    @T.macro
    def add_product(tile, left, right):
        T.evaluate(
            T.call_llvm_intrin(
                "void", f"llvm.aarch64.sme.mopa{wide}.{kind}", T.int32(tile),
                T.Broadcast(T.bool(True), lanes * vscale()),
                T.Broadcast(T.bool(True), lanes * vscale()), left, right,
            )
        )  # fmt: skip

    @T.macro
    def store_rows(tensor, corners, row, tile):
        T.evaluate(
            T.call_llvm_intrin(
                "void", "llvm.aarch64.sme.st1w.horiz",
                _lanes_in(
                    tensor, (corners[0][0] + row, corners[0][1]), M, None, "uint1xvscalex4"
                ),
                T.address_of(tensor[corners[0][0] + row, corners[0][1]]), T.int32(tile),
                T.Cast("int32", row),
            )
        )  # fmt: skip
        if len(corners) > 1:
            store_rows(tensor, corners[1:], row, tile + 1)

    @T.prim_func
    def impl(a: T.handle, b: T.handle, c: T.handle) -> None:
        A = T.match_buffer(
            a, (K, both), in_dtype, offset_factor=1, strides=[T.int32(), T.int32(1)]
        )
        B = T.match_buffer(
            b, (K, both), in_dtype, offset_factor=1, strides=[T.int32(), T.int32(1)]
        )
        C = T.match_buffer(
            c, (both, both), "float32", offset_factor=1, strides=[T.int32(), T.int32(1)]
        )
        with T.block("root"):
            T.reads(C[0:both, 0:both], A[0:K, 0:both], B[0:K, 0:both])
            T.writes(C[0:both, 0:both])
            for step in T.serial(T.ceildiv(K, steps)):
                k = T.meta_var(step * steps)
                rows_of = T.meta_var(halves(A, k))
                cols_of = T.meta_var(halves(B, k))
                left0 = rows_of[0]
                left1 = rows_of[1]
                right0 = cols_of[0]
                right1 = cols_of[1]
                add_product(0, left0, right0)
                add_product(1, left0, right1)
                add_product(2, left1, right0)
                add_product(3, left1, right1)
            for row in T.serial(one):
                store_rows(C, corners, row, 0)

    return desc, impl


def get_sme_init_intrin() -> Pair:
    """C[m, n] = 0 for 2 SVL x 2 SVL floats: ZA is cleared, which `gemm` stores to C at its end."""
    both = 2 * get_vscale_expr("float32")

    @T.prim_func
    def desc(c: T.handle) -> None:
        C = T.match_buffer(c, (both, both), "float32", offset_factor=1)
        with T.block("root"):
            T.reads()
            T.writes(C[0:both, 0:both])
            for m, n in T.grid(both, both):
                with T.block("init"):
                    v_m, v_n = T.axis.remap("SS", [m, n])
                    C[v_m, v_n] = T.float32(0)

    @T.prim_func
    def impl(c: T.handle) -> None:
        C = T.match_buffer(c, (both, both), "float32", offset_factor=1)
        with T.block("root"):
            T.reads()
            T.writes(C[0:both, 0:both])
            T.evaluate(T.call_llvm_intrin("void", "llvm.aarch64.sme.zero", T.int32(_ALL_TILES)))

    return desc, impl


register_own(ARM_SME_INIT, get_sme_init_intrin)
register_own(
    ARM_SME_BLOCK2_2SVLx1SVL_FP16_TRANSPOSE_INTERLEAVE,
    get_sme_transpose_interleave_block2_2svl_fp16_intrin,
)
