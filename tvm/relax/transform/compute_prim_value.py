"""Compute numbers that are expressions over symbolic variables with a function of their own.

    _ = R.assert_op(R.prim_value(n % 16 == 0))
        ->
    cond = cls.compute_symbolic_expr(R.prim_value(n))     # T.ret(n % 16 == 0)
    _ = R.assert_op(cond)

Numbers and plain symbols stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.ir.type import PrimType
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    DataflowVar,
    Function,
    If,
    PrimValue,
    SeqExpr,
    Var,
    VarBinding,
)
from tvm.relax.normalize import merge_blocks
from tvm.relax.struct_info import PrimStructInfo
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.rebuild import replace_operands, with_body, with_value
from tvm.tir.expr import FloatImm, IntImm
from tvm.tir.expr import Var as TirVar
from tvm.tir.function import PrimFunc
from tvm.tir.functor import substitute, walk
from tvm.tir.op import builtin
from tvm.tir.stmt import Evaluate


@relax_module_pass("ComputePrimValue")
def ComputePrimValue(mod: IRModule, ctx: PassContext) -> IRModule:
    """Replace computed numbers in all Relax functions."""
    bb = BlockBuilder(mod)
    for var, func in mod.functions.items():
        if isinstance(func, Function):
            new = with_body(func, _Compute(bb).sequence(func.body))
            if new is not func:
                bb.update_func(var, new)
    return bb.get()


class _Compute:
    def __init__(self, bb: BlockBuilder) -> None:
        self._bb = bb
        self._renamed: dict[RelaxExpr, Var] = {}

    def sequence(self, seq: SeqExpr) -> SeqExpr:
        """The sequence with its computed numbers bound in front of their readers."""
        blocks: list[BindingBlock] = []
        for block in seq.blocks:
            bindings: list[Binding] = []
            kind = DataflowVar if _is_dataflow(block) else Var
            for binding in block.bindings:
                value = self._value(binding.value, bindings, kind)
                bindings.append(self._bind(binding, value))
            same = len(bindings) == len(block.bindings) and all(
                a is b for a, b in zip(bindings, block.bindings)
            )
            blocks.append(block if same else type(block)(bindings, block.span))
        last: list[Binding] = []
        result = seq.body
        if isinstance(result, PrimValue) and _is_computed(result.value):
            result = self._bound(result, last, Var)
        else:
            result = self._operands(result, last, Var)
        if result is seq.body and all(a is b for a, b in zip(blocks, seq.blocks)):
            return seq
        new = SeqExpr(merge_blocks([*blocks, BindingBlock(last)]), result, seq.span)
        new.struct_info_ = result.struct_info_
        return new

    def _bind(self, binding: Binding, value: RelaxExpr) -> Binding:
        """A variable that held a known expression holds what the function gives now."""
        known = isinstance(binding.value, PrimValue) and isinstance(value, Call)
        if not known or not isinstance(binding, VarBinding):
            return with_value(binding, value)
        old = binding.var
        var = self._renamed[old] = type(old)(old.vid, value.struct_info_, old.span)
        return VarBinding(var, value, binding.span)

    def _value(self, value: RelaxExpr, bindings: list[Binding], kind: type[Var]) -> RelaxExpr:
        if isinstance(value, PrimValue) and _is_computed(value.value):
            return self._call(value)
        if isinstance(value, If):
            cond = self._operands(value.cond, bindings, kind)
            yes, no = self.sequence(value.true_branch), self.sequence(value.false_branch)
            if cond is value.cond and yes is value.true_branch and no is value.false_branch:
                return value
            new = If(cond, yes, no, value.span)
            new.struct_info_ = value.struct_info_
            return new
        if isinstance(value, Function):
            return with_body(value, self.sequence(value.body))
        return self._operands(value, bindings, kind)

    def _operands(self, value: RelaxExpr, bindings: list[Binding], kind: type[Var]) -> RelaxExpr:
        def replace(expr: RelaxExpr) -> RelaxExpr | None:
            if isinstance(expr, PrimValue) and _is_computed(expr.value):
                return self._bound(expr, bindings, kind)
            return self._renamed.get(expr)

        return replace_operands(value, replace)

    def _bound(self, value: PrimValue, bindings: list[Binding], kind: type[Var]) -> Var:
        call = self._call(value)
        var = kind("prim_value", call.struct_info_)
        bindings.append(VarBinding(var, call, value.span))
        return var

    def _call(self, value: PrimValue) -> Call:
        symbols = _symbols(value.value)
        callee = self._bb.add_func(_function(value.value, symbols), "compute_symbolic_expr")
        call = Call(callee, [PrimValue(symbol) for symbol in symbols], None, None, value.span)
        call.struct_info_ = PrimStructInfo(value.value.dtype)
        return call


def _is_dataflow(block: BindingBlock) -> bool:
    return type(block) is not BindingBlock


def _is_computed(value: PrimExpr) -> bool:
    return not isinstance(value, (IntImm, FloatImm, TirVar))


def _symbols(value: PrimExpr) -> list[TirVar]:
    return list(dict.fromkeys(part for part in walk(value) if isinstance(part, TirVar)))


def _function(value: PrimExpr, symbols: Sequence[TirVar]) -> PrimFunc:
    """f(symbols) = value."""
    own = {symbol: TirVar(symbol.name, symbol.dtype) for symbol in symbols}
    body = Evaluate(builtin.ret(substitute(value, own)))
    attrs = {"tir.is_host_func": True}
    return PrimFunc(list(own.values()), body, PrimType(value.dtype), None, attrs)
