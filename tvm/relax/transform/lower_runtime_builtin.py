"""Turn operators that the virtual machine has functions for into calls of those.

    R.reshape(x, s)                       ->  R.call_packed("vm.builtin.reshape", x, s, ...)
    R.memory.alloc_storage(size, 0, ...)  ->  R.vm.alloc_storage(size, 0, ...)
    R.make_closure(f, (x,))               ->  R.call_packed("vm.builtin.make_closure", f, x, ...)

Storage and tensors keep operators of their own (`relax.vm.*`): the bytecode gives them registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tvm.error import CheckError, message
from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, DataTypeImm, ExternFunc, Function, PrimValue, Tuple
from tvm.relax.op.base import VOID_RESULT, call_builtin_with_ctx
from tvm.relax.op.memory.view import VIEW_DERIVATION
from tvm.relax.op.vm.vm import alloc_storage, alloc_tensor, kill_object
from tvm.relax.struct_info import FuncStructInfo, ObjectStructInfo, ShapeExpr, TensorStructInfo
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import map_calls
from tvm.target.target import Target

_BUILTIN: Final = "vm.builtin."


@relax_pass("LowerRuntimeBuiltin")
def LowerRuntimeBuiltin(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """Lower every bound call, in branches and local functions too."""
    bb = BlockBuilder(mod)

    def on_call(call: Call) -> RelaxExpr:
        rule = _RULES.get(call.op.name) if isinstance(call.op, Op) else None
        if rule is None:
            return call
        new = rule(bb, call)
        if new is not call:
            new.span = call.span
            if new.struct_info_ is None:
                new.struct_info_ = bb.normalize(new).struct_info_
        return new

    return map_calls(func, on_call)


def VMBuiltinLower() -> object:
    """The older name of LowerRuntimeBuiltin."""
    return LowerRuntimeBuiltin()


def _packed(name: str, args: Sequence[RelaxExpr], info: StructInfo) -> Call:
    call = Call(ExternFunc(name), args, None, [info])
    call.struct_info_ = info
    return call


def _same_operands(name: str) -> Callable[[BlockBuilder, Call], Call]:
    def lower(bb: BlockBuilder, call: Call) -> Call:
        return _packed(_BUILTIN + name, call.args, call.struct_info)

    return lower


def _view(bb: BlockBuilder, call: Call) -> Call:
    """What is left out of a view is as in the tensor itself."""
    data, shape, dtype, offset = call.args
    info = data.struct_info
    if _is_absent(shape) and isinstance(info, TensorStructInfo):
        known = isinstance(info.shape, ShapeExpr)
        shape = info.shape if known else _packed(  # type: ignore[assignment]
            _BUILTIN + "shape_of", [data], call.struct_info
        )
    if _is_absent(dtype) and isinstance(info, TensorStructInfo):
        dtype = DataTypeImm(info.dtype)
    if _is_absent(offset):
        offset = PrimValue(0)
    signature = FuncStructInfo.opaque_func(derive_func=VIEW_DERIVATION, purity=True)
    new = Call(ExternFunc("runtime.TVMTensorCreateView", signature), [data, shape, dtype, offset])
    new.struct_info_ = call.struct_info
    return new


def _is_absent(value: RelaxExpr) -> bool:
    return isinstance(value, Tuple) and not value.fields


def _to_vdevice(bb: BlockBuilder, call: Call) -> Call:
    where = call.attrs.dst_vdevice  # type: ignore[union-attr]
    target = where.target if isinstance(where.target, Target) else Target(where.target)
    kind, number = target.get_target_device_type(), int(where.vdevice_id)
    operands = (call.args[0], PrimValue(kind), PrimValue(number))
    return _packed(_BUILTIN + "to_device", operands, call.struct_info)


def _fields(operands: RelaxExpr) -> Sequence[RelaxExpr]:
    return operands.fields if isinstance(operands, Tuple) else (operands,)


def _make_closure(bb: BlockBuilder, call: Call) -> Call:
    operands = (call.args[0], *_fields(call.args[1]))
    return _packed(_BUILTIN + "make_closure", operands, ObjectStructInfo())


def _invoke_closure(bb: BlockBuilder, call: Call) -> Call:
    operands = (call.args[0], *_fields(call.args[1]))
    # v0.22 forgets what the result is, and refuses kernels that read it
    invoke = ExternFunc(_BUILTIN + "invoke_closure")
    return call_builtin_with_ctx(invoke, operands, sinfo_args=call.sinfo_args)


def _call_tir_dyn(bb: BlockBuilder, call: Call) -> Call:
    return _packed(
        _BUILTIN + "call_tir_dyn", (call.args[0], *_fields(call.args[1])), VOID_RESULT
    )


def _call_py_func(bb: BlockBuilder, call: Call) -> Call:
    operands = (call.args[0], *_fields(call.args[1]))
    return _packed(_BUILTIN + "call_py_func", operands, call.struct_info)


def _storage(bb: BlockBuilder, call: Call) -> Call:
    size, device_index, scope, _ = call.args
    return alloc_storage(size, device_index, DataTypeImm("uint8"), scope)  # the size is in bytes


def _tensor(bb: BlockBuilder, call: Call) -> Call:
    return alloc_tensor(*call.args)


def _unplanned(bb: BlockBuilder, call: Call) -> Call:
    """Memory that nothing planned: the machine has no function for it."""
    raise CheckError(
        message("LowerRuntimeBuiltin: relax.builtin.alloc_tensor has no function of the machine",
                found=f"{call}", where=None if call.span is None else str(call.span),
                legal="StaticPlanBlockMemory or LowerAllocTensor before this pass")
    )  # fmt: skip


def _kill(bb: BlockBuilder, call: Call) -> Call:
    return kill_object(call.args[0])


_RULES: Final[dict[str, Callable[[BlockBuilder, Call], Call]]] = {
    "relax.reshape": _same_operands("reshape"),
    "relax.shape_of": _same_operands("shape_of"),
    "relax.tensor_to_shape": _same_operands("tensor_to_shape"),
    "relax.memory.ensure_zero_offset": _same_operands("ensure_zero_offset"),
    "relax.memory.view": _view,
    "relax.to_vdevice": _to_vdevice,
    "relax.make_closure": _make_closure,
    "relax.invoke_closure": _invoke_closure,
    "relax.invoke_pure_closure": _invoke_closure,
    "relax.call_py_func": _call_py_func,
    "relax.vm.call_tir_dyn": _call_tir_dyn,
    "relax.memory.alloc_storage": _storage,
    "relax.memory.alloc_tensor": _tensor,
    "relax.builtin.alloc_tensor": _unplanned,
    "relax.memory.kill_storage": _kill,
    "relax.memory.kill_tensor": _kill,
}
