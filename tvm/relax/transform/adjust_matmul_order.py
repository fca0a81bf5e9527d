"""Of two products in a row the cheaper order is taken.

    lv = matmul(a, b)                         lv = matmul(b, x)
    y = matmul(lv, x)                 ->      y = matmul(a, lv)

for a: (m, k), b: (k, n), x: (n, p) where m*k*n + m*n*p > k*n*p + m*k*p. Sizes that are not known
count by what can be proved of them; what two weights give while compiling stays together.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.arith.analyzer import Analyzer
from tvm.arith.const_int_bound import ConstIntBound
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.analysis import computable_at_compile_time
from tvm.relax.dpl import DFPattern, is_op, rewrite_call, wildcard
from tvm.relax.expr import Call, Function
from tvm.relax.op import matmul
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo
from tvm.relax.transform.pass_form import relax_pass
from tvm.tir import expr as e
from tvm.tir.functor import walk


@relax_pass("AdjustMatmulOrder")
def AdjustMatmulOrder(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """No two products are made in the order that provably costs more."""
    early = set(computable_at_compile_time(func))
    bounds = func.attrs.get("tir_var_upper_bound")
    analyzer = Analyzer()
    seen: set[e.Var] = set()

    def weigh(left: Sequence[PrimExpr], right: Sequence[PrimExpr]) -> None:
        for var in {n for x in (*left, *right) for n in walk(x) if isinstance(n, e.Var)}:
            if var not in seen:
                seen.add(var)
                _bind(analyzer, var, bounds)

    for left_first in (True, False):
        a, b, c = wildcard(), wildcard(), wildcard()
        product = is_op("relax.matmul")
        pattern = product(product(a, b), c) if left_first else product(a, product(b, c))

        def adjust(
            expr: RelaxExpr,
            found: dict[DFPattern, RelaxExpr],
            parts: tuple[DFPattern, ...] = (a, b, c),
            left_first: bool = left_first,
        ) -> RelaxExpr:
            x, y, z = (found[part] for part in parts)
            shapes = [_matrix(one) for one in (x, y, z)]
            if any(shape is None for shape in shapes):
                return expr
            (m, k), (_, n), (_, p) = (shape for shape in shapes if shape is not None)
            together = (x, y) if left_first else (y, z)
            if all(one in early for one in together):
                return expr
            apart = (y, z) if left_first else (x, y)
            weigh((m, k), (n, p))
            costs = (m * k * n + m * n * p, k * n * p + m * k * p)
            now, then = costs if left_first else costs[::-1]
            if not (all(one in early for one in apart) or analyzer.can_prove(then < now)):
                return expr
            assert isinstance(expr, Call), "the pattern is a call"
            kind = expr.attrs.out_dtype  # type: ignore[union-attr]
            if left_first:
                return matmul(x, matmul(y, z, out_dtype=kind), out_dtype=kind)
            return matmul(matmul(x, y, out_dtype=kind), z, out_dtype=kind)

        func = rewrite_call(pattern, adjust, func)
    return func


def _bind(analyzer: Analyzer, var: e.Var, bounds: object) -> None:
    most = None
    if bounds is not None and hasattr(bounds, "get"):
        most = bounds.get(var.name)
    high = ConstIntBound.POS_INF if most is None else int(str(most))
    analyzer.update(var, ConstIntBound(1, high))


def _matrix(expr: RelaxExpr) -> tuple[PrimExpr, PrimExpr] | None:
    info = expr.struct_info_
    if not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr):
        return None
    values = info.shape.values
    return (values[0], values[1]) if len(values) == 2 else None
