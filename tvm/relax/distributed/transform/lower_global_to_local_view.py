"""Let every worker call kernels with its own pieces.

    y = R.dist.call_tir(cls.g, (x,), R.DTensor((128, 128), ..., "S[1]"))
        ->
    y = R.dist.call_tir_local_view(cls.g1, (x,), R.DTensor((128, 128), ..., "S[1]"))

`g1` is `g` for tensors of (128, 64). Where a kernel reduces over what is in pieces, the parts of
its result are put together by an `R.ccl.allreduce` behind it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.error import TVMError, message
from tvm.ir.expr import GlobalVar, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.distributed.local_kernel import local_kernel
from tvm.relax.distributed.struct_info import DTensorStructInfo, PlacementSpecKind
from tvm.relax.distributed.tir_axes import linked_buffer_axes
from tvm.relax.expr import Binding, Call, DataflowVar, Function, Tuple, Var, VarBinding, is_call_of
from tvm.relax.op.ccl import allreduce
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo
from tvm.relax.transform.rebuild import map_bindings
from tvm.tir.function import PrimFunc


@declare_module_pass("LowerGlobalViewToLocalView", opt_level=1)
def LowerGlobalViewToLocalView(mod: IRModule, ctx: PassContext) -> IRModule:
    """Rewrite every call of a kernel on distributed tensors."""
    bb = BlockBuilder(mod)

    def on_binding(binding: Binding) -> Sequence[Binding]:
        call = binding.value
        if not is_call_of(call, "relax.call_tir"):
            return (binding,)
        infos = _fields(call.sinfo_args[0]) if call.sinfo_args else []
        distributed = any(isinstance(info, DTensorStructInfo) for info in infos)
        if not distributed:
            return (binding,)
        return _local(bb, mod, binding, call)

    for var, func in mod.functions.items():
        if isinstance(func, Function):
            new = map_bindings(func, on_binding)
            if new is not func:
                bb.update_func(var, new)
    return bb.get()


def _fields(info: StructInfo) -> list[StructInfo]:
    return list(info.fields) if isinstance(info, TupleStructInfo) else [info]


def _local(bb: BlockBuilder, mod: IRModule, binding: Binding, call: Call) -> list[Binding]:
    callee, operands = call.args[0], call.args[1]
    assert isinstance(callee, GlobalVar), "kernels have names"
    assert isinstance(operands, Tuple), "the operands are written out"
    kernel = mod[callee]
    assert isinstance(kernel, PrimFunc), "call_tir calls kernels"
    infos = [field.struct_info for field in operands.fields] + _fields(call.sinfo_args[0])
    pieces: dict[tuple[int, int], int] = {}
    tensors = [i for i in infos if isinstance(i, (DTensorStructInfo, TensorStructInfo))]
    for index, info in enumerate(tensors):
        if isinstance(info, TensorStructInfo):
            continue
        for workers, spec in zip(info.device_mesh.shape, info.placement.dim_specs):
            if spec.kind is PlacementSpecKind.kSharding:
                key = (index, spec.axis)
                pieces[key] = pieces.get(key, 1) * workers
    for axes in linked_buffer_axes(kernel):
        if len({pieces.get(axis, 1) for axis in axes}) > 1:
            said = [f"{pieces.get((at, dim), 1)} of dimension {dim} of {at}" for at, dim in axes]
            raise _refused(
                call, f"pieces: {', '.join(said)}",
                "as many pieces of all dimensions that an iterator walks together",
            )  # fmt: skip
    made = local_kernel(kernel, pieces)
    local = bb.add_func(made.func, callee.name_hint)
    op = Op.get("relax.dist.call_tir_local_view")
    new = Call(op, [local, *call.args[1:]], None, call.sinfo_args, call.span)
    new.struct_info_ = binding.var.struct_info_
    if made.combine is None:
        return [VarBinding(binding.var, new, binding.span)]
    mesh = next(i for i in tensors if isinstance(i, DTensorStructInfo)).device_mesh
    if len(mesh.shape) > 1:
        raise _refused(
            call, f"parts of a result on a mesh of shape {mesh.shape}",
            "a mesh of one dimension, as R.ccl.allreduce goes over all workers",
        )  # fmt: skip
    kind = DataflowVar if isinstance(binding.var, DataflowVar) else Var
    part = kind("gv", new.struct_info_)
    whole = allreduce(part, made.combine, in_group=False)
    whole.struct_info_ = new.struct_info_
    whole.span = call.span
    return [VarBinding(part, new, binding.span), VarBinding(binding.var, whole, binding.span)]


def _refused(call: Call, found: str, legal: str) -> TVMError:
    where = None if call.span is None else str(call.span)
    what = f"LowerGlobalViewToLocalView: {call.args[0]}"
    return TVMError(message(what, found=found, where=where, legal=legal))
