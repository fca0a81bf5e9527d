"""One of the module's virtual devices is another.

    vdevices: [cpu, cuda:0]    UpdateVDevice(cuda:1, 1)    vdevices: [cpu, cuda:1]
    x: Tensor(.., "cuda:0")              ->                x: Tensor(.., "cuda:1")
    y = to_vdevice(x, "cuda:0")                            y = to_vdevice(x, "cuda:1")
"""

from __future__ import annotations

from tvm.error import CheckError, message
from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.global_info import VDevice
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext
from tvm.relax.expr import Call, Function
from tvm.relax.expr_functor import PyExprMutator
from tvm.relax.op import to_vdevice
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform.pass_form import relax_module_pass


@relax_module_pass("UpdateVDevice")
def UpdateVDevice(
    mod: IRModule, ctx: PassContext, new_vdevice: VDevice, index: int
) -> IRModule:
    """Number `index` of the global info `vdevice` is `new_vdevice`, in all struct infos too."""
    devices = list(mod.global_infos.get("vdevice", ()))
    if not 0 <= index < len(devices):
        raise CheckError(
            message(
                "UpdateVDevice: the index of a virtual device",
                found=f"{index}, of {len(devices)} devices",
                legal=f"0 ... {len(devices) - 1}" if devices else "a module with virtual devices",
            )
        )
    old = devices[index]
    devices[index] = new_vdevice
    functions = dict(mod.functions.items())
    for var, func in mod.functions.items():
        if isinstance(func, Function):
            new = _Mover(mod, old, new_vdevice).visit_expr(func)
            assert isinstance(new, Function), "functions stay functions"
            functions[var] = new
            var.struct_info_ = new.struct_info_
    infos = {key: list(values) for key, values in mod.global_infos.items()}
    infos["vdevice"] = devices
    return IRModule(functions, attrs=mod.attrs, global_infos=infos)


class _Mover(PyExprMutator):
    def __init__(self, mod: IRModule, old: object, new: VDevice) -> None:
        super().__init__(mod)
        self._old, self._new = old, new

    def visit_call_(self, op: Call) -> RelaxExpr:
        new = super().visit_call_(op)
        if isinstance(new, Call) and new.op is to_vdevice.op:
            to = new.attrs.dst_vdevice  # type: ignore[union-attr]
            return to_vdevice(new.args[0], self._new) if self._is_old(to) else new
        return new

    def _is_old(self, device: VDevice) -> bool:
        return device is self._old or structural_equal(device, self._old)

    def visit_struct_info(self, info: StructInfo) -> StructInfo:
        new = super().visit_struct_info(info)
        if not isinstance(new, TensorStructInfo) or new.vdevice is None:
            return new
        if not self._is_old(new.vdevice):
            return new
        shape = new.shape
        if shape is None:
            return TensorStructInfo(None, new.dtype, self._new, new.ndim, span=new.span)
        return TensorStructInfo(shape, new.dtype, self._new, span=new.span)
