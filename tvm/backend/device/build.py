"""Modules of kernels as source text."""

from __future__ import annotations

from collections.abc import Callable

from tvm.error import TargetError, message
from tvm.ffi import get_global_func
from tvm.ir.module import IRModule
from tvm.runtime.device_module import DeviceModule
from tvm.target import Target

from .kernels import DeviceText


def build_source(
    mod: IRModule,
    target: Target | str,
    kind: str,
    fmt: str,
    emit: Callable[[IRModule, Target], DeviceText],
) -> DeviceModule:
    """The module of the device functions of `mod`.

    A function registered as `tvm_callback_<kind>_postproc` may change the text: it gets the text
    and the target, and gives the text that is taken.
    """
    chosen = Target(target)
    if chosen.kind.name != kind:
        raise TargetError(
            message(
                f"{kind} code for target {chosen.kind.name}",
                found="another backend's target",
                legal=kind,
            )
        )
    made = emit(mod, chosen)
    source = made.text
    change = get_global_func(f"tvm_callback_{kind}_postproc", allow_missing=True)
    if change is not None:
        source = str(change(source, chosen))
    arch = str(chosen.attrs.get("arch") or chosen.attrs.get("mcpu") or "")
    return DeviceModule(kind, fmt, source, made.kernels, arch)
