"""Make ones and zeros, with which gradients begin, only where they are needed.

    fn (%x) { add(%x, zeros_like(%x)) }
    ->
    fn (%x) { @FromGradCell((fn (%y: GradCell[T]) { @AddGradCell(.., %y, Zero(..)) })(Raw(%x))) }

Tensors inside a function become cells of `std/gradient.rly`: raw values, ones, zeros. Sums and
products of operands of one shape look at what they get; all other operators take and give raw
values. What a function takes and gives stays as it was.
"""

from __future__ import annotations

from typing import Any, Final

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.node import Node
from tvm.ir.op import Op
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.ir.type import TupleType, Type
from tvm.ir.type_relation import TypeCall
from tvm.relay.expr import Call, Constant, If, Let, Tuple, TupleGetItem, Var
from tvm.relay.function import Function
from tvm.relay.prelude import import_from_std
from tvm.relay.traverse import rebuild, transform
from tvm.relay.ty import FuncType, TensorType

from .infer_type import InferType

_OWN: Final = ("FromGradCell", "MultiplyGradCell", "AddGradCell")


@declare_module_pass("LazyGradientInit", opt_level=2)
def LazyGradientInit(mod: IRModule, ctx: PassContext) -> IRModule:
    """The module with ones and zeros that are made when something asks for them."""
    made = InferType()(mod).clone()
    import_from_std(made, "gradient.rly")
    cells = _Cells(made)
    for var, func in list(made.functions.items()):
        if isinstance(func, Function) and var.name_hint not in _OWN:
            made[var] = cells.outer(func)
    return InferType()(made)


class _Cells:
    def __init__(self, mod: IRModule) -> None:
        self.cell, self.raw, self.one, self.zero = mod.get_type("GradCell")
        self.take = mod.get_global_var("FromGradCell")
        self.sums = {
            "add": mod.get_global_var("AddGradCell"),
            "multiply": mod.get_global_var("MultiplyGradCell"),
        }
        self.vars: dict[Node, Var] = {}

    def type(self, found: Type) -> Type:
        """The type of a value inside."""
        if isinstance(found, TensorType):
            return TypeCall(self.cell, [found])
        if isinstance(found, TupleType):
            return TupleType([self.type(field) for field in found.fields])
        if isinstance(found, FuncType):
            args = [self.type(arg) for arg in found.arg_types]
            return FuncType(args, self.type(found.ret_type), found.type_params)
        return found

    def wrapped(self, expr: RelaxExpr, found: Type | None) -> RelaxExpr:
        """A plain value as one of inside."""
        if isinstance(found, TensorType):
            return Call(self.raw, [expr])
        if isinstance(found, TupleType):
            parts = [TupleGetItem(expr, at) for at in range(len(found.fields))]
            return Tuple([self.wrapped(p, t) for p, t in zip(parts, found.fields)])
        return expr

    def plain(self, expr: RelaxExpr, found: Type | None) -> RelaxExpr:
        """A value of inside as a plain one."""
        if isinstance(found, TensorType):
            return Call(self.take, [expr])
        if isinstance(found, TupleType):
            parts = [TupleGetItem(expr, at) for at in range(len(found.fields))]
            return Tuple([self.plain(p, t) for p, t in zip(parts, found.fields)])
        return expr

    def outer(self, func: Function) -> Function:
        """The function as its callers know it, around the one with cells."""
        inner = transform(func, self.rule)
        params = [Var(p.name_hint, p.checked_type, p.span) for p in func.params]
        args = [self.wrapped(new, new.type_annotation) for new in params]
        found: Any = func.checked_type
        body = self.plain(Call(inner, args), found.ret_type)
        return Function(params, body, func.ret_type, func.type_params, func.attrs, func.span)

    def rule(self, old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if isinstance(old, Var):
            return self.var(old)
        if isinstance(new, Constant):
            return Call(self.raw, [new])
        if isinstance(new, Function):
            return Function(new.params, new.body, None, new.type_params, None, new.span)
        if isinstance(new, If) and isinstance(old, If):
            return If(
                Call(self.take, [new.cond]), new.true_branch, new.false_branch, new.span
            )
        if isinstance(new, Let):
            return Let(new.var, new.value, new.body, new.span)
        if isinstance(new, Call) and isinstance(old, Call):
            return self.call(old, new)
        return new

    def var(self, old: Var) -> Var:
        known = self.vars.get(old.vid)
        if known is None:
            found = old.checked_type_ or old.type_annotation
            known = Var(old.name_hint, None if found is None else self.type(found), old.span)
            self.vars[old.vid] = known
        return known

    def call(self, old: Call, new: Call) -> RelaxExpr:
        if isinstance(old.op, Op):
            return self.op_call(old, new, old.op)
        if isinstance(old.op, GlobalVar):
            args = [self.plain(n, o.checked_type) for n, o in zip(new.args, old.args)]
            return self.wrapped(Call(new.op, args, new.attrs), old.checked_type)
        return Call(new.op, new.args, new.attrs, None, new.span)

    def op_call(self, old: Call, new: Call, op: Op) -> RelaxExpr:
        args = [self.plain(n, o.checked_type) for n, o in zip(new.args, old.args)]
        if op.name in ("ones", "zeros", "ones_like", "zeros_like"):
            made = Function([], rebuild(old, (op, *args)), old.checked_type)
            return Call(self.one if op.name.startswith("ones") else self.zero, [made])
        kinds = [arg.checked_type for arg in old.args]
        if op.name in self.sums and all(kind == old.checked_type for kind in kinds):
            params = [Var("a", kinds[0]), Var("b", kinds[1])]
            apply = Function(params, Call(op, params), old.checked_type)
            return Call(self.sums[op.name], [apply, *new.args])
        plain = Call(op, args, old.attrs, None, old.span)
        return self.wrapped(plain, old.checked_type)
