"""Drawing from distributions; the random numbers are given, so that results can be repeated."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, ExprLike
from tvm.relax.numpy_dtype import numpy_dtype
from tvm.relax.struct_info import VOID, TensorStructInfo
from tvm.support.dtype import DataType
from tvm.tir import op as tir_op

from .declare import Array, Expr, Infer, attrs_class, relax_op, show_shape, te, topi
from .shapes import check_float, check_ndim, like

MultinomialFromUniformAttrs = attrs_class("MultinomialFromUniformAttrs", "dtype")


@relax_op(
    "relax.multinomial_from_uniform",
    "prob: Tensor, uniform_sample: Tensor, sample_indices: Tensor",
    MultinomialFromUniformAttrs,
)
def multinomial_from_uniform(
    prob: ExprLike,
    uniform_sample: ExprLike,
    sample_indices: ExprLike,
    dtype: DataType | str = "int64",
) -> Call:
    """A class for each uniform number, from the row of prob that sample_indices names.

    (batch, classes), (n, 1), (n, 1) -> (n, 1): the first class at which the sum of probabilities
    exceeds the number.
    """
    return multinomial_from_uniform.call(
        prob, uniform_sample, sample_indices, dtype=DataType(dtype)
    )


@multinomial_from_uniform.infer
def _multinomial_info(
    ctx: Infer,
    prob: TensorStructInfo,
    uniform_sample: TensorStructInfo,
    sample_indices: TensorStructInfo,
    *,
    dtype: DataType,
) -> TensorStructInfo:
    check_float(ctx, "prob", prob.dtype)
    check_float(ctx, "uniform_sample", uniform_sample.dtype)
    if sample_indices.dtype is not VOID and not sample_indices.dtype.is_integer:
        raise ctx.dtype_error("sample_indices must be integers", f"{sample_indices.dtype}")
    if not dtype.is_integer:
        raise ctx.dtype_error("the dtype must be an integer type", f"{dtype}", "int64, int32")
    named = (("prob", prob), ("uniform_sample", uniform_sample), ("sample_indices", sample_indices))
    for name, info in named:
        check_ndim(ctx, name, info, 2)
    a, b = uniform_sample.values, sample_indices.values
    if a is None or b is None:
        return like(uniform_sample, None, 2, dtype)
    if ctx.differ(a[0], b[0]):
        raise ctx.shape_error(
            "uniform_sample and sample_indices differ in length",
            f"{show_shape(uniform_sample)}, {show_shape(sample_indices)}",
        )
    return like(uniform_sample, (a[0], 1), dtype=dtype)  # type: ignore[arg-type]


@multinomial_from_uniform.legalize
def _multinomial_te(
    bb: BlockBuilder, prob: Expr, uniform_sample: Expr, sample_indices: Expr, *, dtype: DataType
) -> Expr:
    def compute(p: Any, u: Any, rows: Any) -> Any:
        total = topi.cumsum(p, 1)
        classes = p.shape[1]
        k = te.reduce_axis((0, classes), name="k")

        def count(i: Any, j: Any) -> Any:
            # sums do not decrease, so those not above the number come before the class
            below = total[rows[i, 0], k] <= u[i, 0].astype(p.dtype)
            return te.sum(tir_op.if_then_else(below, 1, 0).astype(str(dtype)), axis=k)

        counts = te.compute((u.shape[0], 1), count, name="count")
        last = (classes - 1).astype(str(dtype))
        return te.compute(
            (u.shape[0], 1), lambda i, j: tir_op.min(counts[i, j], last), name="sampled"
        )

    return bb.call_te(
        compute, prob, uniform_sample, sample_indices,
        primfunc_name_hint="multinomial_from_uniform",
    )  # fmt: skip


@multinomial_from_uniform.reference
def _multinomial_numpy(
    prob: Array, uniform_sample: Array, sample_indices: Array, *, dtype: DataType
) -> Array:
    total = np.cumsum(prob, 1, dtype=prob.dtype)[sample_indices[:, 0]]
    below = (total <= uniform_sample.astype(prob.dtype)).sum(1, keepdims=True)
    return np.minimum(below, prob.shape[1] - 1).astype(numpy_dtype(dtype))
