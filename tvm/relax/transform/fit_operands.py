"""Operands whose extents fit together for sure: what nothing proves, the running program decides.

    z = add(x: (n,), y: (m,))   ->   k = if_then_else(n == 1, m, n)     # and m is 1 or that
                                     z: (k,) = add(x repeated, y repeated)

An operator whose extents are open has a result of unknown extents, and no kernel. Operands of
unknown extents get symbols for them. Rules are set by `fit` where operators are declared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.span import span_scope
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Function, Tuple, Var
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.relax.extents import with_extents
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo, TupleStructInfo
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.rebuild import all_bindings

FitRule = Callable[[BlockBuilder, Call], Sequence[RelaxExpr]]


@relax_module_pass("FitOperands")
def FitOperands(mod: IRModule, ctx: PassContext) -> IRModule:
    """Give operators whose result has unknown extents operands that fit for sure."""
    fitter = _Fitter(mod)
    for var, func in mod.functions.items():
        if isinstance(func, Function) and any(
            _rule_of(binding.value) is not None for binding in all_bindings(func)
        ):
            new = fitter.visit_expr(func)
            assert isinstance(new, Function), "functions stay functions"
            fitter.builder_.update_func(var, new)
    return fitter.builder_.get()


@mutator
class _Fitter(PyExprMutator):
    def visit_call_(self, op: Call) -> RelaxExpr:
        call = super().visit_call_(op)
        return with_fitting_operands(self.builder_, call, self.builder_.normalize(call))


def with_fitting_operands(bb: BlockBuilder, call: RelaxExpr, normal: RelaxExpr) -> RelaxExpr:
    """The call, of operands that fit for sure if its normal form has a result of open extents."""
    rule = _rule_of(normal)
    if rule is None or not isinstance(call, Call):
        return call
    with span_scope(call.span):
        args = [_named(bb, arg) for arg in call.args]
        args = list(rule(bb, Call(call.op, args, call.attrs)))
    return Call(call.op, args, call.attrs, call.sinfo_args, call.span)


def _rule_of(call: RelaxExpr) -> FitRule | None:
    """How to fit operands of the operator that is called, if extents of its result are open."""
    if not isinstance(call, Call) or not isinstance(call.op, Op) or not _is_open(call.struct_info_):
        return None
    op = call.op
    if op.get_attr("FLegalize") is None or op.get_attr("FCallPacked") is not None:
        return None
    own: FitRule | None = op.get_attr("FFitOperands")
    if own is not None or op.get_attr("FDataDependent"):
        return own
    return _as_they_are if any(_is_open(arg.struct_info_) for arg in call.args) else None


def _as_they_are(bb: BlockBuilder, call: Call) -> Sequence[RelaxExpr]:
    return call.args


def _named(bb: BlockBuilder, arg: RelaxExpr) -> RelaxExpr:
    """The operand, with symbols for extents that are not known."""
    if isinstance(arg, Tuple):
        return Tuple([_named(bb, field) for field in arg.fields])
    return with_extents(bb, arg) if isinstance(arg, Var) and _is_open(arg.struct_info_) else arg


def _is_open(info: StructInfo | None) -> bool:
    if isinstance(info, TensorStructInfo):
        return not isinstance(info.shape, ShapeExpr)
    return isinstance(info, TupleStructInfo) and any(map(_is_open, info.fields))
