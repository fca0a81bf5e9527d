"""Make the results of kernels explicit: allocate, call, read.

    y = R.call_tir(cls.exp, (x,), R.Tensor((n,), "float32"))
        ->
    alloc = R.builtin.alloc_tensor(R.shape([n]), "float32", 0)
    _ = cls.exp(x, alloc)
    y = alloc

Symbolic sizes that a kernel takes beside its tensors go through `vm.call_tir_dyn`. Results that
stand in for operands (`call_tir_inplace`) are those operands. Works on plain blocks: what it makes
has effects.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.expr import GlobalVar, RelaxExpr, StructInfo
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    Binding,
    Call,
    DataflowVar,
    Function,
    ShapeExpr,
    Tuple,
    Var,
    VarBinding,
)
from tvm.relax.op.base import VOID_RESULT
from tvm.relax.op.builtin.builtin import alloc_tensor
from tvm.relax.op.vm.vm import call_tir_dyn
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo
from tvm.relax.transform.inplace_results import operand_indices
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.rebuild import map_bindings, vars_of_dataflow

_DESTINATION_CALLS = (
    "relax.call_tir", "relax.call_tir_with_grad", "relax.call_dps_packed", "relax.call_tir_inplace",
)  # fmt: skip


@relax_module_pass("CallTIRRewrite")
def CallTIRRewrite(mod: IRModule, ctx: PassContext) -> IRModule:
    """Rewrite every call with results to be made, in all functions."""
    bb = BlockBuilder(mod)
    devices = mod.global_infos.get("vdevice", ())

    inside: set[Var] = set()

    def on_binding(binding: Binding) -> Sequence[Binding]:
        value = binding.value
        if not isinstance(value, Call) or not isinstance(value.op, Op):
            return (binding,)
        if value.op.name not in _DESTINATION_CALLS or not isinstance(binding, VarBinding):
            return (binding,)
        kind = DataflowVar if binding.var in inside else Var
        return _rewritten(bb, binding, value, devices, kind)

    functions: dict[GlobalVar, BaseFunc] = {}
    for var, func in mod.functions.items():
        functions[var] = func
        if isinstance(func, Function):
            inside.update(vars_of_dataflow(func))
            functions[var] = map_bindings(func, on_binding)
    return mod.with_functions(functions)


def _rewritten(
    bb: BlockBuilder, binding: VarBinding, call: Call, devices: Sequence[object], kind: type[Var]
) -> list[Binding]:
    kernel, packed = call.args[0], call.args[1]
    operands = list(packed.fields) if isinstance(packed, Tuple) else [packed]
    made: list[Binding] = []

    def bind(name: str, value: RelaxExpr) -> Var:
        normal = value if value.struct_info_ is not None else bb.normalize(value)
        var = kind(name, normal.struct_info_)
        made.append(VarBinding(var, normal, call.span or binding.span))
        return var

    info = call.sinfo_args[0]
    infos = _fields(info)
    known = _fields(binding.var.struct_info)
    infos = [_with_vdevice(one, like) for one, like in zip(infos, known)]
    results: list[RelaxExpr] = []
    for index, one in zip(operand_indices(call, len(infos)), infos):
        results.append(operands[index] if index >= 0 else bind("alloc", _allocation(one, devices)))
    fresh = [r for r in results if not any(r is operand for operand in operands)]
    arguments = [*operands, *fresh]
    if len(call.args) > 2:
        bind("_", call_tir_dyn(kernel, [*arguments, call.args[2]]))
    else:
        made_call = Call(kernel, arguments, None, [], call.span)
        if isinstance(kernel, GlobalVar):  # whose struct info may be older than the kernel
            made_call.struct_info_ = VOID_RESULT
        bind("_", made_call)
    whole: RelaxExpr = Tuple(results) if isinstance(info, TupleStructInfo) else results[0]
    made.append(VarBinding(binding.var, bb.normalize(whole), binding.span))
    return made


def _fields(info: StructInfo) -> list[StructInfo]:
    return list(info.fields) if isinstance(info, TupleStructInfo) else [info]


def _with_vdevice(info: StructInfo, like: StructInfo) -> StructInfo:
    """The result on the device that is known of its variable, where the call says none."""
    if not isinstance(info, TensorStructInfo) or not isinstance(like, TensorStructInfo):
        return info
    if info.vdevice is not None or like.vdevice is None:
        return info
    return TensorStructInfo.of(info.shape, info.dtype, like.vdevice, info.ndim, info.span)


def _allocation(info: StructInfo, devices: Sequence[object]) -> Call:
    """A new tensor, on the device of the module whose number the machine will count by."""
    assert isinstance(info, TensorStructInfo), "kernels give tensors"
    assert isinstance(info.shape, ShapeExpr), "call_tir knows the shapes of its results"
    if info.vdevice is None:
        return alloc_tensor(info.shape, info.dtype, 0, "global")
    number = next((i for i, one in enumerate(devices) if one is info.vdevice), 0)
    return alloc_tensor(info.shape, info.dtype, number, str(info.vdevice.memory_scope))
