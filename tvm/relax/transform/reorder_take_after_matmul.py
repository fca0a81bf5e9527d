"""Columns of weights are chosen after the product with all of them.

    w = take(weights, indices, axis=1)            lv = matmul(x, weights)
    y = matmul(x, w)                       ->     y = take(lv, indices, axis=1)

So the weights need not be copied. A choice along the last axis by a vector is moved, and one among
tables, one for each batch: there the product with all tables is made, and of it the diagonal taken.
"""

from __future__ import annotations

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.dpl import DFPattern, is_op, rewrite_call, wildcard
from tvm.relax.expr import Call, Function, Var
from tvm.relax.op import einsum, matmul, permute_dims, reshape, take
from tvm.relax.shape_math import same_extent
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import all_bindings


@relax_pass("ReorderTakeAfterMatmul", opt_level=1)
def ReorderTakeAfterMatmul(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """No matmul has chosen columns as its right operand."""
    values = {b.var: b.value for b in all_bindings(func) if hasattr(b, "value")}
    lhs, weights, indices = wildcard(), wildcard(), wildcard()
    chosen = is_op("relax.take")(weights, indices)
    pattern = is_op("relax.matmul")(lhs, chosen)

    def reorder(expr: RelaxExpr, found: dict[DFPattern, RelaxExpr]) -> RelaxExpr:
        choice = found[chosen]
        choice = values.get(choice, choice) if isinstance(choice, Var) else choice
        left, table, which = (_info(found[one]) for one in (lhs, weights, indices))
        if not isinstance(choice, Call) or left is None or table is None or which is None:
            return expr
        axis = choice.attrs.axis  # type: ignore[union-attr]
        if axis is None or table.ndim < 2 or left.ndim < 1 or which.ndim != 1:
            return expr
        product = found[pattern]
        assert isinstance(product, Call), "the pattern is a call"
        kind = product.attrs.out_dtype  # type: ignore[union-attr]
        mode = choice.attrs.mode  # type: ignore[union-attr]
        axis = int(axis) % table.ndim
        if axis == 0 and left.ndim == table.ndim == 3:
            tables = _all_tables(found[lhs], found[weights], str(kind))
            if tables is None or not _as_many(left, which):
                return expr
            chosen_tables = take(tables, found[indices], axis=2, mode=mode)
            return einsum((chosen_tables,), "ijik->ijk")
        if axis != table.ndim - 1:
            return expr
        rank = _info(expr)
        assert rank is not None, "products are tensors"
        every = matmul(found[lhs], found[weights], out_dtype=kind)
        return take(every, found[indices], axis=rank.ndim - 1, mode=mode)

    return rewrite_call(pattern, reorder, func)


def _all_tables(lhs: RelaxExpr, tables: RelaxExpr, kind: str) -> RelaxExpr | None:
    """(b, s, k), (n, k, m) -> (b, s, n, m); None if an extent is unknown."""
    left, right = _shape(lhs), _shape(tables)
    if left is None or right is None:
        return None
    (batch, rows, _), (count, inner, columns) = left.values, right.values
    beside = reshape(permute_dims(tables, axes=[1, 0, 2]), ShapeExpr([inner, count * columns]))
    product = matmul(lhs, beside, out_dtype=kind)
    return reshape(product, ShapeExpr([batch, rows, count, columns]))


def _as_many(left: TensorStructInfo, which: TensorStructInfo) -> bool:
    """Whether each batch has a choice of its own."""
    a, b = left.shape, which.shape
    if not isinstance(a, ShapeExpr) or not isinstance(b, ShapeExpr):
        return False
    return same_extent(a.values[0], b.values[0]) is True


def _shape(expr: RelaxExpr) -> ShapeExpr | None:
    info = _info(expr)
    return info.shape if info is not None and isinstance(info.shape, ShapeExpr) else None


def _info(expr: RelaxExpr) -> TensorStructInfo | None:
    info = expr.struct_info_
    return info if isinstance(info, TensorStructInfo) else None
