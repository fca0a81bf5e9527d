"""A layout that is undone right away is not made at all.

    a = R.layout_transform(x, lambda i, j: i * 4 + j)
    b = R.layout_transform(a, lambda i: (i // 4, i % 4))        ->        x in place of b

`remove_pad` between the two goes too: the second transform would bring the padding back.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.arith import Analyzer
from tvm.ir.expr import GlobalVar, Range, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext
from tvm.relax.expr import Binding, Call, Function, Tuple, Var, is_call_of
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo
from tvm.relax.transform.alter_op_impl import OPERATOR_NAME
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import map_bindings, with_value
from tvm.relax.transform.tidy import tidy_rewritten, tidy_untouched
from tvm.tir.expr import IntImm
from tvm.tir.function import PrimFunc


@relax_pass("OptimizeLayoutTransform")
def OptimizeLayoutTransform(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """Drop layout transforms that cancel each other."""
    if func.attrs.get("Primitive"):
        return func
    values: dict[Var, RelaxExpr] = {}

    def on_binding(binding: Binding) -> Sequence[Binding]:
        source = _source(binding.value, values, mod)
        new = binding if source is None else with_value(binding, source)
        values[new.var] = new.value
        return (new,)

    new = map_bindings(func, on_binding)
    return tidy_untouched(func) if new is func else tidy_rewritten(new)


def _bound(expr: RelaxExpr, values: dict[Var, RelaxExpr]) -> RelaxExpr:
    while isinstance(expr, Var) and expr in values:
        expr = values[expr]
    return expr


def _transform(expr: RelaxExpr) -> Call | None:
    return expr if is_call_of(expr, "relax.layout_transform") else None


def _source(
    value: RelaxExpr, values: dict[Var, RelaxExpr], mod: IRModule
) -> RelaxExpr | None:
    """What two transforms together leave as it is, or None."""
    second = _transform(value)
    if second is None:
        return None
    inner = _bound(second.args[0], values)
    cut = _cut_operand(inner, mod)
    first = _transform(inner if cut is None else _bound(cut, values))
    if first is None:
        return None
    source = first.args[0]
    if not structural_equal(source.struct_info_, second.struct_info_):
        return None
    same = _is_identity(first, second)
    return source if same else None


def _cut_operand(expr: RelaxExpr, mod: IRModule) -> RelaxExpr | None:
    """The operand of a kernel that removes padding, or None."""
    if not is_call_of(expr, "relax.call_tir") or not isinstance(expr.args[0], GlobalVar):
        return None
    kernel = mod.functions.get(expr.args[0])
    is_cut = isinstance(kernel, PrimFunc) and kernel.attrs.get(OPERATOR_NAME) == "remove_pad"
    operands = expr.args[1]
    if not is_cut or not isinstance(operands, Tuple) or len(operands.fields) != 1:
        return None
    return operands.fields[0]


def _is_identity(first: Call, second: Call) -> bool:
    """True when the second map takes every index back to where the first took it from."""
    info = first.args[0].struct_info_
    shape = info.shape if isinstance(info, TensorStructInfo) else None
    forth, back = first.attrs.index_map, second.attrs.index_map  # type: ignore[union-attr]
    if not isinstance(shape, ShapeExpr) or len(back.initial_indices) != len(forth.final_indices):
        return False
    analyzer = Analyzer()
    for var, extent in zip(forth.initial_indices, shape.values):
        known = IntImm(var.dtype, extent.value) if isinstance(extent, IntImm) else extent
        analyzer.bind(var, Range.from_min_extent(IntImm(var.dtype, 0), known))
    there = back.map_indices(forth.final_indices, analyzer)
    return len(there) == len(forth.initial_indices) and all(
        analyzer.can_prove_equal(a, b) for a, b in zip(there, forth.initial_indices)
    )
