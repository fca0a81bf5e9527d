"""The product with a sum becomes a sum of products.

    w = add(base, delta)             lv = matmul(x, base)
    y = matmul(x, w)         ->      lv1 = matmul(x, delta)
                                     y = add(lv, lv1)

The sum may be transposed: `matmul(x, permute_dims(add(base, delta)))` has products with the
transposed parts. Worth it where one part is a product of thin matrices, as weights with a low-rank
change are. Sums that can be computed while compiling stay, and so do those that broadcast.
"""

from __future__ import annotations

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext
from tvm.relax.analysis import computable_at_compile_time
from tvm.relax.dpl import DFPattern, is_op, rewrite_call, wildcard
from tvm.relax.expr import Call, Function
from tvm.relax.op import add, matmul, permute_dims
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform.pass_form import relax_pass


@relax_pass("ExpandMatmulOfSum", opt_level=1)
def ExpandMatmulOfSum(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """No matmul has a sum of run time as its right operand."""
    lhs, a, b = wildcard(), wildcard(), wildcard()
    total = is_op("relax.add")(a, b)
    moved = is_op("relax.permute_dims")(total)
    pattern = is_op("relax.matmul")(lhs, total | moved)
    early = set(computable_at_compile_time(func))

    def expand(expr: RelaxExpr, found: dict[DFPattern, RelaxExpr]) -> RelaxExpr:
        first, second = found[a], found[b]
        if (first in early and second in early) or not _same_shape(first, second):
            return expr
        product = found[pattern]
        assert isinstance(product, Call), "the pattern is a call"
        kind = product.attrs.out_dtype  # type: ignore[union-attr]
        left = found[lhs]
        turned = found.get(moved)
        if isinstance(turned, Call):
            axes = turned.attrs.axes  # type: ignore[union-attr]
            first, second = permute_dims(first, axes), permute_dims(second, axes)
        return add(matmul(left, first, out_dtype=kind), matmul(left, second, out_dtype=kind))

    return rewrite_call(pattern, expand, func)


def _same_shape(a: RelaxExpr, b: RelaxExpr) -> bool:
    mine, theirs = a.struct_info_, b.struct_info_
    if not (isinstance(mine, TensorStructInfo) and isinstance(theirs, TensorStructInfo)):
        return False
    if mine.shape is None or theirs.shape is None:
        return False
    return structural_equal(mine.shape, theirs.shape)
