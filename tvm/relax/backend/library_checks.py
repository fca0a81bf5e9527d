"""What libraries of matrix products ask of a match: types, batches, biases, residuals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm.arith.analyzer import Analyzer
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax.expr import Constant, Var
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform.fuse_ops_by_pattern import PatternCheckContext
from tvm.tir.expr import IntImm
from tvm.tir.expr import Var as TirVar
from tvm.tir.op import arith as ops


def tensor(expr: RelaxExpr) -> tuple[tuple[PrimExpr, ...], str] | None:
    """Shape and type of a tensor, where both are known."""
    info = expr.struct_info
    if not isinstance(info, TensorStructInfo) or info.values is None:
        return None
    return tuple(info.values), str(info.dtype)


def tensors(
    context: PatternCheckContext, *names: str
) -> list[tuple[tuple[PrimExpr, ...], str]] | None:
    """Shapes and types of annotated parts; None if one is not known."""
    found = [tensor(context.annotated_expr[name]) for name in names]
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else None


def size_of(shape: Sequence[PrimExpr]) -> PrimExpr:
    """The number of elements."""
    total: PrimExpr = IntImm("int64", 1)
    for extent in shape:
        total = ops.multiply(total, extent)
    return total


def is_number(extent: PrimExpr, value: int | None = None) -> bool:
    """Whether an extent is a number, or a certain one."""
    return isinstance(extent, IntImm) and value in (None, extent.value)


def divisible(extent: PrimExpr, by: int) -> bool:
    """Whether an extent is a multiple of a number for sure."""
    return isinstance(extent, IntImm) and extent.value % by == 0


def batches_fit(lhs: Sequence[PrimExpr], rhs: Sequence[PrimExpr]) -> bool:
    """Equal batches, or one of the right side: rows of all batches are then those of one matrix.

    Batches that are a symbol are taken on trust.
    """
    left, right = size_of(lhs[:-2]), size_of(rhs[:-2])
    if isinstance(left, TirVar) or isinstance(right, TirVar):
        return True
    analyzer = Analyzer()
    return analyzer.can_prove_equal(left, right) or (
        analyzer.can_prove(ops.greater_equal(left, 1)) and analyzer.can_prove_equal(right, 1)
    )


def bias_is_vector(context: PatternCheckContext) -> bool:
    """Whether the bias, if there is one, has one row."""
    if "bias" not in context.annotated_expr:
        return True
    found = tensors(context, "bias")
    return found is not None and is_number(size_of(found[0][0][:-1]), 1)


def scale_is_scalar(context: PatternCheckContext) -> bool:
    """Whether a dequantization, if there is one, has one scale and no zero point."""
    parts: Mapping[str, RelaxExpr] = context.annotated_expr
    if "scale" not in parts or "zp" not in parts:
        return True
    scale, zero = parts["scale"], parts["zp"]
    infos = [one.struct_info for one in (scale, zero)]
    if any(not isinstance(i, TensorStructInfo) or i.ndim != 0 for i in infos):
        return False
    return isinstance(zero, Constant) and float(zero.data.numpy()) == 0.0


def depends_on(context: PatternCheckContext, start: Var, end: Var) -> bool:
    """Whether `start` is computed from `end`."""
    waiting, seen = [end], {end}
    while waiting:
        for user in context.var_usages.get(waiting.pop(), ()):
            if user is start:
                return True
            if user not in seen:
                seen.add(user)
                waiting.append(user)
    return False


def residual_fits(context: PatternCheckContext, root: RelaxExpr) -> bool:
    """Whether the residual, if there is one, stands before the product and has its shape.

    A vector of the last extent, as a bias is, will do too.
    """
    residual: Any = context.annotated_expr.get("residual")
    if residual is None:
        return True
    if not isinstance(residual, Var):
        residual = context.value_to_bound_var.get(residual)
        if residual is None:
            return False
    result = context.value_to_bound_var[root]
    found, wanted = tensor(residual), tensor(result)
    if depends_on(context, residual, result) or found is None or wanted is None:
        return False
    analyzer = Analyzer()
    same = len(found[0]) == len(wanted[0]) and all(
        analyzer.can_prove_equal(a, b) for a, b in zip(found[0], wanted[0])
    )
    last = wanted[0][-1]
    vector = bool(found[0]) and analyzer.can_prove_equal(found[0][-1], last)
    return same or (vector and analyzer.can_prove_equal(size_of(found[0]), last))
