"""Operators that broadcast read what a broadcast copies.

    lv = broadcast_to(bias, (1, 56, 56, 64))    ->    y = add(x, bias)
    y = add(x, lv)                                    # x has that shape itself

Programs of JAX write every broadcast. As it stands, a bias would be copied to the size of the data,
or the program would carry it in that size.
"""

from __future__ import annotations

from collections.abc import Mapping

from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Function, Var, is_call_of
from tvm.relax.op.layout_rules import broadcast
from tvm.relax.shape_math import same_shape
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform.dead_code_elimination import remove_unused_bindings
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import all_bindings, rewrite_calls


@relax_pass("ImplicitBroadcast")
def ImplicitBroadcast(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """For operators of two operands, where the other one has the shape of the result."""
    sources: dict[RelaxExpr, RelaxExpr] = {
        b.var: b.value.args[0]
        for b in all_bindings(func)
        if isinstance(b.value, Call) and is_call_of(b.value, "relax.broadcast_to")
    }
    called = {b.value.op for b in all_bindings(func) if isinstance(b.value, Call)}
    names = [op.name for op in called if isinstance(op, Op) and _broadcasts(op)]
    if not sources or not names:
        return func

    def rule(bb: BlockBuilder, call: Call) -> RelaxExpr:
        return _read_source(call, sources)

    new = rewrite_calls(func, dict.fromkeys(names, rule), BlockBuilder(mod))
    return func if new is func else remove_unused_bindings(new)


def _broadcasts(op: Op) -> bool:
    return op.get_attr("FRelaxInferLayout") is broadcast


def _read_source(call: Call, sources: Mapping[RelaxExpr, RelaxExpr]) -> Call:
    """The call with one operand, or both in turn, read where its broadcast reads."""
    args = list(call.args)
    for i, other in ((1, 0), (0, 1)):
        source = sources.get(args[i]) if isinstance(args[i], Var) else None
        if source is not None and _has_shape_of(args[other].struct_info_, call.struct_info_):
            args[i] = source
    if all(new is old for new, old in zip(args, call.args)):
        return call
    return Call(call.op, args, call.attrs, call.sinfo_args, call.span)


def _has_shape_of(operand: StructInfo | None, result: StructInfo | None) -> bool:
    if not isinstance(operand, TensorStructInfo) or not isinstance(result, TensorStructInfo):
        return False
    if operand.values is None or result.values is None:
        return False
    return same_shape(operand.values, result.values) is True
