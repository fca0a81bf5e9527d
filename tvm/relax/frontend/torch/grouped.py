"""Products of rows with one matrix of several, as mixtures of experts compute them."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder

from .registry import convert
from .values import Expr, cast, dtype_of, rank, refuse, sizes


@convert("_grouped_mm", "grouped_mm", "grouped_mm_fallback")
def grouped_mm(
    bb: BlockBuilder, input: Expr, mat2: Expr, offs: Expr | None = None, bias: Expr | None = None,
    out_dtype: str | None = None,
) -> Expr:  # fmt: skip
    """(rows, k), (groups, k, n) -> (rows, n); `offs` are the ends of the groups of rows."""
    if bias is not None:
        raise refuse("grouped_mm: bias", "a tensor", "no bias")
    dtype = out_dtype or dtype_of(input)
    if rank(input) == 3 and rank(mat2) == 3:
        return cast(bb, bb.emit(op.matmul(input, mat2)), dtype)
    if rank(input) != 2 or rank(mat2) != 3 or offs is None:
        found = f"{rank(input)} and {rank(mat2)} axes"
        raise refuse("grouped_mm", found, "rows in groups (2 axes) and a matrix a group (3 axes)")
    groups = _groups(bb, input, offs)
    made = bb.emit_te(_grouped, input, mat2, groups, primfunc_name_hint="grouped_mm")
    return cast(bb, made, dtype)


def _groups(bb: BlockBuilder, rows: Expr, offs: Expr) -> Expr:
    """The group of each row: how many groups end before it."""
    count = sizes(rows)[0]
    numbers = bb.emit(op.arange(0, count, 1, dtype_of(offs)))
    ended = op.less_equal(op.expand_dims(offs, 0), op.expand_dims(numbers, 1))
    return bb.emit(op.sum(op.astype(ended, "int32"), 1))


def _grouped(rows: te.Tensor, matrices: te.Tensor, group: te.Tensor) -> te.Tensor:
    """Rows behind the last group are zero, as torch leaves them."""
    count = matrices.shape[0]
    wide = "float32" if rows.dtype in ("float16", "bfloat16") else str(rows.dtype)
    k = te.reduce_axis((0, rows.shape[1]), "k")

    def product(i: tir.Var, j: tir.Var) -> Any:
        held = tir.min(group[i], tir.Cast("int32", count - 1))
        return te.sum(rows[i, k].astype(wide) * matrices[held, k, j].astype(wide), axis=k)

    made = te.compute((rows.shape[0], matrices.shape[2]), product, name="grouped_mm")
    zero = tir.const(0, rows.dtype)

    def in_use(i: tir.Var, j: tir.Var) -> Any:
        return tir.Select(group[i] < count, made[i, j].astype(rows.dtype), zero)

    used: te.Tensor = te.compute(made.shape, in_use, name="rows_in_use")
    return used
