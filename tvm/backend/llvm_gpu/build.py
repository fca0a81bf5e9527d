"""Modules of kernels that LLVM has made."""

from __future__ import annotations

from typing import NamedTuple

from tvm.backend.device.kernels import Signature as Kernel
from tvm.backend.device.kernels import device_functions, launch_info, signature_of
from tvm.backend.host_functions import Signature
from tvm.backend.llvm.jit import Machine, data_layout
from tvm.backend.llvm.module_text import ModuleText
from tvm.backend.llvm.types import value_type
from tvm.ir.module import IRModule
from tvm.support.kernel_info import KernelInfo
from tvm.support.recursion import nested_programs

from .emitter import KernelEmitter
from .text import KernelText


class KernelCode(NamedTuple):
    """LLVM text of kernels, and how each is launched."""

    text: str
    kernels: dict[str, KernelInfo]


def emit_kernels(
    mod: IRModule, machine: Machine, language: type[KernelEmitter]
) -> KernelCode:
    """The LLVM text of all functions of a lowered module."""
    module = ModuleText(
        machine.triple, data_layout(machine), machine.cpu, machine.features, machine.fast_math
    )
    language.begin_module(module)
    infos: dict[str, KernelInfo] = {}
    with nested_programs():
        functions = [(var, signature_of(var, func)) for var, func in device_functions(mod)]
        emitters: list[KernelEmitter] = []
        legal = {one.name for _, one in functions if not one.kernel}
        for var, one in functions:
            module.names.reserve(one.name)
            params = tuple(language.param_type(p) for p in one.func.params)
            made = Signature(one.name, value_type(one.result), params, fallible=False)
            if not one.kernel:
                module.signatures[one.name] = module.signatures[var.name_hint] = made
            names = [p.name for p in one.func.params]
            out = KernelText(
                module, made, names, _attributes(one), language.SPACES["own"]
            )
            emitters.append(language(out, one, legal))
        for emitter in emitters:
            emitter.emit_function()
            one = emitter.kernel
            if one.kernel:
                pointers = [p for p in one.func.params if p.dtype.is_handle]
                infos[one.name] = launch_info(one, pointers)
    return KernelCode(module.text(), infos)


def _attributes(one: Kernel) -> list[str]:
    """What is promised of each parameter."""
    asked = one.func.attrs.get("tir.noalias")
    apart = one.kernel and (asked is None or bool(asked))
    return ["noalias" if apart and p.dtype.is_handle else "" for p in one.func.params]
