"""Wishes about devices become facts: every tensor says where it is, and copies are explicit.

    lv = R.hint_on_device(x, cuda)            lv: Tensor("cuda") = x          # x: Tensor("cuda")
    gv = R.add(lv, lv)                 ->     gv: Tensor("cuda") = R.add(lv, lv)
    z = R.hint_on_device(gv, cpu)             z: Tensor("llvm") = R.to_vdevice(gv, "llvm")

What a variable's struct info, a function's result or a hint's result says is certain, and spreads
over the operands and results of calls, in both directions. What a hint says of its operand counts
where nothing certain is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tvm.error import CheckError, message
from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.global_info import VDevice
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.expr import Call, Function, If, SeqExpr, Tuple, Var, VarBinding, is_call_of
from tvm.relax.expr_functor import PyExprMutator
from tvm.relax.op.base import to_vdevice
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.rebuild import all_bindings, sub_exprs

_HINT, _COPY = "relax.hint_on_device", "relax.to_vdevice"
Lookup = Callable[[Call], VDevice]


@relax_module_pass("RealizeVDevice")
def RealizeVDevice(mod: IRModule, ctx: PassContext) -> IRModule:
    """No hint is left; tensors whose device is known carry it."""
    lookup = _device_of_hints(mod)
    devices = _infer(mod, lookup)
    functions = dict(mod.functions.items())
    for var, func in mod.functions.items():
        if not isinstance(func, Function):
            continue
        new = _VDeviceAnnotator(mod, devices, lookup).visit_expr(func)
        assert isinstance(new, Function), "functions stay functions"
        functions[var] = new
        if new is not func:
            var.struct_info_ = new.struct_info_
    return mod.with_functions(functions)


def _device_of_hints(mod: IRModule) -> Lookup:
    known = [one for one in mod.global_infos.get("vdevice", ()) if isinstance(one, VDevice)]

    def lookup(hint: Call) -> VDevice:
        kind, index = int(hint.attrs.device_type), int(hint.attrs.index)  # type: ignore[union-attr]
        for one in known:
            number = one.target.get_target_device_type()  # type: ignore[attr-defined]
            if (int(number), one.vdevice_id) == (kind, index):
                return one
        shown = ", ".join(f"{one.target}:{one.vdevice_id}" for one in known)
        raise CheckError(
            message(
                f"RealizeVDevice: {hint}",
                found=f"no virtual device of type {kind} and number {index} in the module",
                legal=shown or 'a module with global infos "vdevice"',
            )
        )

    return lookup


# --- who is where ---


def _infer(mod: IRModule, lookup: Lookup) -> dict[Var, VDevice]:
    certain: dict[Var, VDevice] = {}
    wishes: dict[Var, VDevice] = {}
    neighbours: dict[Var, list[Var]] = {}
    for func in mod.functions.values():
        if isinstance(func, Function):
            _collect(func, lookup, certain, wishes, neighbours)
    devices: dict[Var, VDevice] = {}
    for known in (certain, wishes):
        stack = []
        for var, device in known.items():
            if var not in devices:
                devices[var] = device
                stack.append(var)
        while stack:
            var = stack.pop()
            for other in neighbours.get(var, ()):
                if other not in devices:
                    devices[other] = devices[var]
                    stack.append(other)
    return devices


def _collect(
    func: Function, lookup: Lookup, certain: dict[Var, VDevice], wishes: dict[Var, VDevice],
    neighbours: dict[Var, list[Var]],
) -> None:  # fmt: skip
    bound: dict[Var, RelaxExpr] = {}
    for var in _defined(func):
        info = var.struct_info_
        if isinstance(info, TensorStructInfo) and info.vdevice is not None:
            certain[var] = info.vdevice
    for binding in all_bindings(func):
        bound[binding.var] = value = binding.value
        if is_call_of(value, _HINT):
            assert isinstance(value, Call), "asked above"
            certain[binding.var] = lookup(value)
            if isinstance(value.args[0], Var):
                wishes[value.args[0]] = certain[binding.var]
        if not is_call_of(value, _HINT, _COPY):
            for var in _read(value):
                neighbours.setdefault(binding.var, []).append(var)
                neighbours.setdefault(var, []).append(binding.var)
    _from_result(func.body.body, func.ret_struct_info, bound, certain)


def _defined(func: Function) -> Iterator[Var]:
    yield from func.params
    for binding in all_bindings(func):
        yield binding.var
        if isinstance(binding.value, Function):
            yield from binding.value.params


def _read(value: RelaxExpr) -> Iterator[Var]:
    """The variables that `value` is computed from; the fields of a tuple may be anywhere."""
    if isinstance(value, If):
        branches = (value.true_branch, value.false_branch)
        yield from (b.body for b in branches if isinstance(b, SeqExpr) and isinstance(b.body, Var))
    elif not isinstance(value, (Function, Tuple)):
        yield from (e for e in sub_exprs(value) if isinstance(e, Var))


def _from_result(
    expr: RelaxExpr, info: StructInfo, bound: dict[Var, RelaxExpr], certain: dict[Var, VDevice]
) -> None:
    """What the function says of its result holds for the variable, or the fields, returned."""
    if isinstance(info, TensorStructInfo) and info.vdevice is not None:
        if isinstance(expr, Var):
            certain.setdefault(expr, info.vdevice)
    elif isinstance(info, TupleStructInfo):
        while isinstance(expr, Var) and expr in bound:
            expr = bound[expr]
        if isinstance(expr, Tuple):
            for field, one in zip(expr.fields, info.fields):
                _from_result(field, one, bound, certain)


# --- saying so ---


def _on_vdevice(info: StructInfo, device: VDevice | None) -> StructInfo:
    if device is None or not isinstance(info, TensorStructInfo) or info.vdevice is not None:
        return info
    if info.shape is None:
        return TensorStructInfo(None, info.dtype, device, info.ndim, info.span)
    return TensorStructInfo(info.shape, info.dtype, device, span=info.span)


class _VDeviceAnnotator(PyExprMutator):
    def __init__(self, mod: IRModule, devices: dict[Var, VDevice], lookup: Lookup) -> None:
        super().__init__(mod)
        self._devices, self._lookup = devices, lookup

    def visit_var_def_(self, var: Var) -> Var:
        info = var.struct_info_
        if info is None:
            return var
        new = _on_vdevice(info, self._devices.get(var))
        return var if new is info else type(var)(var.vid, new, var.span)

    visit_dataflow_var_def_ = visit_var_def_

    def visit_var_binding_(self, binding: VarBinding) -> None:
        value = self.visit_expr(binding.value)
        device = self._devices.get(binding.var)
        if isinstance(value, Call) and value.sinfo_args and device is not None:
            infos = [_on_vdevice(info, device) for info in value.sinfo_args]
            if not _same(infos, value.sinfo_args):
                value = self.builder_.normalize(
                    Call(value.op, value.args, value.attrs, infos, value.span)
                )
        self.reemit_binding(binding, value)

    def visit_call_(self, op: Call) -> RelaxExpr:
        call = super().visit_call_(op)
        if not is_call_of(call, _HINT):
            return call
        operand, target = call.args[0], self._lookup(call)
        info = operand.struct_info_
        if isinstance(info, TensorStructInfo) and info.vdevice == target:
            return operand
        copy = to_vdevice(operand, target)
        copy.span = call.span
        return copy


def _same(new: Sequence[object], old: Sequence[object]) -> bool:
    return all(a is b for a, b in zip(new, old))
