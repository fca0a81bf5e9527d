"""Of two products in a row the cheaper order is taken.

    lv = matmul(a, b)                         lv = matmul(b, x)
    y = matmul(lv, x)                 ->      y = matmul(a, lv)

for a: (n, r), b: (r, m), x: (m, p) where (r + p) * n * m > (m + n) * r * p. Batches are left out of
account, vectors are rows on the left and columns on the right, and a transposed product is the
product of the transposed factors. Sizes that are not known count by what can be proved of them
(`tir_var_upper_bound`); what two weights give while compiling stays together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from tvm.arith.analyzer import Analyzer
from tvm.arith.const_int_bound import ConstIntBound
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.analysis import computable_at_compile_time
from tvm.relax.dpl import DFPattern, is_op, rewrite_call, wildcard
from tvm.relax.expr import Call, Function
from tvm.relax.op import matmul, permute_dims
from tvm.relax.shape_math import same_extent
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo
from tvm.relax.struct_info_rules import tir_vars_in_struct_info
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import all_bindings
from tvm.tir.expr import IntImm

_ONE: Final = IntImm("int64", 1)
Extents = Sequence[PrimExpr]


@relax_pass("AdjustMatmulOrder", opt_level=1)
def AdjustMatmulOrder(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """No two products are made in the order that provably costs more."""
    early: set[RelaxExpr] = set(computable_at_compile_time(func))
    early |= {b.value for b in all_bindings(func) if b.var in early}
    costs = _Costs(func)
    for left_first in (True, False):
        for transposed in (False, True):
            func = _adjusted(func, early, costs, left_first, transposed)
    return func


def _adjusted(
    func: Function, early: set[RelaxExpr], costs: _Costs, left_first: bool, transposed: bool
) -> Function:
    """The function without dear products of one form: which of the two is made first, and how."""
    x, y, z = wildcard(), wildcard(), wildcard()
    product, transpose = is_op("relax.matmul"), is_op("relax.permute_dims")
    one, other = (x, y) if left_first else (y, z)
    inner: DFPattern = product(other, one) if transposed else product(one, other)
    inner_product = inner
    if transposed:
        inner = transpose(inner)
    pattern = product(inner, z) if left_first else product(x, inner)

    def adjust(expr: RelaxExpr, found: dict[DFPattern, RelaxExpr]) -> RelaxExpr:
        a, b, c = (found[part] for part in (x, y, z))
        shapes = [_shape(one) for one in (a, b, c)]
        if any(shape is None for shape in shapes):
            return expr
        if transposed and not _is_transposed(found[inner], found[inner_product]):
            return expr
        together, apart = ((a, b), (b, c)) if left_first else ((b, c), (a, b))
        if all(one in early for one in together):
            return expr
        first, middle, last = (shape for shape in shapes if shape is not None)
        if transposed:
            first, middle, last = (
                (first[::-1], middle[::-1], last) if left_first
                else (first, middle[::-1], last[::-1])
            )  # fmt: skip
        n, r = first[-2:] if len(first) > 1 else (_ONE, first[0])
        m, p = last[-2:] if len(last) > 1 else (last[0], _ONE)
        left, right = (r, p), (n, m)  # the left first costs less where 1/r + 1/p < 1/n + 1/m
        cheaper = costs.less(right, left) if left_first else costs.less(left, right)
        if not (all(one in early for one in apart) or cheaper):
            return expr
        if transposed and left_first:
            a, b = permute_dims(a), permute_dims(b)
        elif transposed:
            b, c = permute_dims(b), permute_dims(c)
        return matmul(a, matmul(b, c)) if left_first else matmul(matmul(a, b), c)

    return rewrite_call(pattern, adjust, func)


def _is_transposed(expr: RelaxExpr, product: RelaxExpr) -> bool:
    """Whether a permutation of a product swaps rows and columns, and there is nothing else."""
    info = product.struct_info_
    assert isinstance(expr, Call), "the pattern is a call"
    axes = expr.attrs.axes  # type: ignore[union-attr]
    matrix = isinstance(info, TensorStructInfo) and info.ndim == 2
    return matrix and (axes is None or [int(axis) % 2 for axis in axes] == [1, 0])


class _Costs:
    """Compares costs by what is known of sizes, all of which are positive."""

    def __init__(self, func: Function) -> None:
        self._analyzer = Analyzer()
        given = func.attrs.get("tir_var_upper_bound")
        bounds = given if isinstance(given, Mapping) or hasattr(given, "get") else {}
        for param in func.params:
            for var in tir_vars_in_struct_info(param.struct_info):
                most = bounds.get(var.name)
                high = ConstIntBound.POS_INF if most is None else int(most) - 1
                self._analyzer.update(var, ConstIntBound(1, high))

    def less(self, a: Extents, b: Extents) -> bool:
        """Whether the sum of 1/size over `a` is provably smaller than that over `b`."""
        rest_a, rest_b = list(a), list(b)
        for size in a:
            same = next((one for one in rest_b if same_extent(size, one) is True), None)
            if same is not None:
                rest_a.remove(size)
                rest_b.remove(same)
        most, _ = self._sum(rest_a)
        _, least = self._sum(rest_b)
        open_end = any(self._bounds(size)[1] is None for size in rest_b)
        return most < least or (open_end and most == least)

    def _sum(self, sizes: Extents) -> tuple[Fraction, Fraction]:
        """The largest and the smallest value of the sum of 1/size."""
        bounds = [self._bounds(size) for size in sizes]
        largest = sum((Fraction(1, low) for low, _ in bounds), Fraction(0))
        known = (Fraction(1, high) for _, high in bounds if high is not None)
        return largest, sum(known, Fraction(0))

    def _bounds(self, size: PrimExpr) -> tuple[int, int | None]:
        bound = self._analyzer.const_int_bound(size)
        high = None if bound.max_value >= ConstIntBound.POS_INF else max(int(bound.max_value), 1)
        return max(int(bound.min_value), 1), high


def _shape(expr: RelaxExpr) -> Extents | None:
    info = expr.struct_info_
    if not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr):
        return None
    return info.shape.values or None
