"""Operators on the elements of three tensors."""

from __future__ import annotations

from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, ExprLike
from tvm.relax.shape_math import same_shape
from tvm.relax.struct_info import TensorStructInfo

from . import layout_rules
from .declare import ELEMENTWISE, FOLLOW, Expr, Infer, relax_op, show_shape, topi
from .shapes import common_dtype, like


@relax_op(
    "relax.ewise_fma",
    "x1: Tensor, x2: Tensor, x3: Tensor",
    pattern=ELEMENTWISE,
    precision=FOLLOW,
)
def ewise_fma(x1: ExprLike, x2: ExprLike, x3: ExprLike) -> Call:
    """x1 * x2 + x3, element by element; all three have one shape."""
    return ewise_fma.call(x1, x2, x3)


@ewise_fma.infer
def _fma_info(
    ctx: Infer, x1: TensorStructInfo, x2: TensorStructInfo, x3: TensorStructInfo
) -> TensorStructInfo:
    dtype = common_dtype(ctx, ("x1", x1), ("x2", x2), ("x3", x3))
    infos = (x1, x2, x3)
    ndims = {info.ndim for info in infos if info.ndim != -1}
    if len(ndims) > 1:
        counts = ", ".join(str(info.ndim) for info in infos)
        raise ctx.shape_error("the numbers of dimensions differ", counts, "one shape for all")
    known = [info for info in infos if info.values is not None]
    for other in known[1:]:
        assert known[0].values is not None, "selected above"
        assert other.values is not None, "selected above"
        same = same_shape(known[0].values, other.values, ctx.analyzer)
        if same is False or (same is None and len(known) == 3):
            raise ctx.shape_error(
                "the shapes differ" if same is False else "the shapes cannot be shown to be equal",
                f"{show_shape(known[0])}, {show_shape(other)}", "one shape",
            )  # fmt: skip
    ndim = ndims.pop() if ndims else -1
    if x1.shape is not None and x1.shape is x2.shape is x3.shape:
        return TensorStructInfo.of(x1.shape, dtype, x1.vdevice, ndim)
    return like(x1, known[0].values if len(known) == 3 else None, ndim, dtype)


@ewise_fma.legalize
def _fma_te(bb: BlockBuilder, x1: Expr, x2: Expr, x3: Expr) -> Expr:
    return bb.call_te(
        lambda a, b, c: topi.add(topi.multiply(a, b), c), x1, x2, x3, primfunc_name_hint="ewise_fma"
    )


ewise_fma.reference(lambda x1, x2, x3: x1 * x2 + x3)
ewise_fma.layout(layout_rules.as_one)
