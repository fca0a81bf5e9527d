"""Memory that the GPUs of one machine share is allocated by the runtime of that.

    s = R.memory.alloc_storage(shape, 0, "ipc_memory", dtype)
        ->
    s = R.call_packed("runtime.disco.cuda_ipc.alloc_storage", shape, dtype, sinfo_args=(R.Object,))

A tensor `builtin.alloc_tensor(..., "ipc_memory")` gets such storage of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, module_pass
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    Binding,
    Call,
    DataflowVar,
    ExternFunc,
    Function,
    StringImm,
    Var,
    VarBinding,
    is_call_of,
)
from tvm.relax.op.memory.memory import alloc_tensor
from tvm.relax.struct_info import ObjectStructInfo
from tvm.relax.transform.rebuild import map_bindings, with_value

ALLOC_STORAGE = "runtime.disco.cuda_ipc.alloc_storage"


@module_pass(opt_level=0, name="LowerGPUIPCAllocStorage")
class LowerGPUIPCAllocStorage:
    """No allocation with the storage scope `ipc_memory` is left."""

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Rewrite all functions."""
        bb = BlockBuilder(mod)

        def on_binding(binding: Binding) -> Sequence[Binding]:
            return _rewritten(bb, binding)

        functions = {
            var: map_bindings(func, on_binding) if isinstance(func, Function) else func
            for var, func in mod.functions_items()
        }
        return mod.with_functions(functions)


def _storage(call: Call, shape: RelaxExpr, dtype: RelaxExpr) -> Call:
    info = ObjectStructInfo()
    made = Call(ExternFunc(ALLOC_STORAGE), [shape, dtype], None, [info], call.span)
    made.struct_info_ = info
    return made


def _in_ipc_memory(scope: RelaxExpr) -> bool:
    return isinstance(scope, StringImm) and scope.value == "ipc_memory"


def _rewritten(bb: BlockBuilder, binding: Binding) -> Sequence[Binding]:
    call = binding.value
    if is_call_of(call, "relax.memory.alloc_storage") and _in_ipc_memory(call.args[2]):
        return (with_value(binding, _storage(call, call.args[0], call.args[3])),)
    if is_call_of(call, "relax.builtin.alloc_tensor") and _in_ipc_memory(call.args[3]):
        shape, dtype = call.args[0], call.args[1]
        held = _storage(call, shape, dtype)
        kind = DataflowVar if isinstance(binding.var, DataflowVar) else Var
        storage = kind(bb.get_unique_name("gv"), held.struct_info_)
        tensor = bb.normalize(alloc_tensor(storage, 0, shape, dtype))
        tensor.span = call.span
        return (VarBinding(storage, held, binding.span or call.span), with_value(binding, tensor))
    return (binding,)
