"""Functions inside of functions as functions of the module.

    def @main(%y) { (fn (%x) { %x + %y })(%y) }
    ->
    def @main(%y) { @lifted_name0(%y)(%y) }
    def @lifted_name0(%y1, Closure=1) { fn (%x) { %x + %y1 } }

What a function takes from around it are the parameters of the lifted one; without any, the lifted
function is the function itself. Primitive functions stay: they are kernels.
"""

from __future__ import annotations

from typing import Any

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.node import Node
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.relay.expr import Call, Let, Var
from tvm.relay.function import Function
from tvm.relay.rewrite import substitute
from tvm.relay.traverse import post_order, transform
from tvm.relay.variables import free_vars


@declare_module_pass("LambdaLift", opt_level=1)
def LambdaLift(mod: IRModule, ctx: PassContext) -> IRModule:
    """The module with all functions at its top."""
    from .infer_type import InferType

    mod = InferType()(mod)
    lifter = _Lifter({var.name_hint for var in mod.functions})
    made: dict[Any, Any] = {}
    for var, func in mod.functions.items():
        made[var] = lifter.lifted(func) if isinstance(func, Function) else func
    return InferType()(mod.with_functions({**made, **lifter.functions}))


class _Lifter:
    def __init__(self, names: set[str]) -> None:
        self.names = names
        self.functions: dict[GlobalVar, Function] = {}

    def lifted(self, func: Function) -> Function:
        """A function of the module without functions inside."""
        owners = {
            id(e.value): e.var for e in post_order(func) if isinstance(e, Let)
            and isinstance(e.value, Function)
        }  # fmt: skip

        def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
            if not isinstance(new, Function) or "Primitive" in new.attrs:
                return new
            return new if old is func else self._lift(new, owners.get(id(old)))

        made = transform(func, rule)
        assert isinstance(made, Function), "a function stays one"
        return made

    def _lift(self, func: Function, own: Var | None) -> RelaxExpr:
        """What stands for a function; `own` is the variable by which it calls itself."""
        vid = None if own is None else own.vid
        taken = [var for var in free_vars(func) if var.vid != vid]
        var = GlobalVar(self._name())
        params = [Var(v.name_hint, v.checked_type_ or v.type_annotation) for v in taken]
        inside: dict[Node, Any] = {v.vid: p for v, p in zip(taken, params)}
        if own is not None:
            inside[own.vid] = Call(var, params) if params else var
        body = substitute(func, inside)
        assert isinstance(body, Function), "a function stays one"
        if not taken:
            self.functions[var] = body
            return var
        self.functions[var] = Function(params, body, None, func.type_params, {"Closure": 1})
        return Call(var, taken, None, None, func.span)

    def _name(self) -> str:
        at = len(self.functions)
        while f"lifted_name{at}" in self.names:
            at += 1
        self.names.add(f"lifted_name{at}")
        return f"lifted_name{at}"
