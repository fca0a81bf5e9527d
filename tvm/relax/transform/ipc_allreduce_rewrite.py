"""Sums over all GPUs of one machine go through the memory that they share.

    a = R.builtin.alloc_tensor(shape, dtype, 0, "global")
    _ = R.call_packed("runtime.disco.allreduce", a, R.shape([0]), True, out)
        ->
    a = R.builtin.alloc_tensor(shape, dtype, 0, "ipc_memory")
    _ = R.call_packed("runtime.disco.cuda_ipc.custom_allreduce", a, strategy, out)

Nothing changes where the runtime has no such function, or where the operand is not allocated in
the same function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tvm.ffi import get_global_func
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, module_pass
from tvm.relax.expr import (
    Binding,
    Call,
    ExternFunc,
    Function,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    is_call_of,
)
from tvm.relax.struct_info import const_int
from tvm.relax.transform.rebuild import all_bindings, map_bindings, with_value

CUSTOM = "runtime.disco.cuda_ipc.custom_allreduce"
_ALLREDUCE = "runtime.disco.allreduce"
_SUM = 0


@module_pass(opt_level=0, name="IPCAllReduceRewrite")
class IPCAllReduceRewrite:
    """`allreduce_strategy` is one of `tvm.runtime.disco`'s AllReduceStrategyType."""

    def __init__(self, allreduce_strategy: int) -> None:
        self.allreduce_strategy = int(allreduce_strategy)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Rewrite all functions."""
        if get_global_func(CUSTOM, allow_missing=True) is None:
            return mod
        functions = {
            var: _rewritten(func, self.allreduce_strategy) if isinstance(func, Function) else func
            for var, func in mod.functions_items()
        }
        return mod.with_functions(functions)


def _rewritten(func: Function, strategy: int) -> Function:
    values = {binding.var: binding.value for binding in all_bindings(func)}
    shared: set[Var] = set()
    calls: set[Call] = set()
    for value in values.values():
        if isinstance(value, Call) and _is_sum(value):
            holder = _allocation(value.args[0], values)
            if holder is not None:
                shared.add(holder)
                calls.add(value)

    def on_binding(binding: Binding) -> Sequence[Binding]:
        call = binding.value
        if not isinstance(call, Call):
            return (binding,)
        new = call
        if binding.var in shared:
            args = [*call.args[:3], StringImm("ipc_memory")]
            new = Call(call.op, args, call.attrs, call.sinfo_args, call.span)
        elif call in calls:
            args = [call.args[0], PrimValue(strategy), call.args[3]]
            new = Call(ExternFunc(CUSTOM), args, call.attrs, call.sinfo_args, call.span)
        if new is call:
            return (binding,)
        new.struct_info_ = call.struct_info_
        return (with_value(binding, new),)

    return map_bindings(func, on_binding) if calls else func


def _is_sum(call: Call) -> bool:
    if not isinstance(call.op, ExternFunc) or call.op.global_symbol != _ALLREDUCE:
        return False
    kind = call.args[1] if len(call.args) == 4 else None
    return isinstance(kind, ShapeExpr) and [const_int(v) for v in kind.values] == [_SUM]


def _allocation(expr: RelaxExpr, values: Mapping[Var, RelaxExpr]) -> Var | None:
    """The variable whose allocation an operand is, through names, reshapes and tuples."""
    while isinstance(expr, Var):
        value = values.get(expr)
        if isinstance(value, TupleGetItem):
            index, held = value.index, value.tuple_value
            while isinstance(held, Var) and held in values:
                held = values[held]
            value = held.fields[index] if isinstance(held, Tuple) else None
        if is_call_of(value, "relax.builtin.alloc_tensor"):
            return expr
        if is_call_of(value, "relax.reshape", "relax.memory.view"):
            value = value.args[0]
        if not isinstance(value, Var):
            return None
        expr = value
    return None
