"""Modules of PTX, which the CUDA driver loads."""

from __future__ import annotations

from tvm.backend.llvm.jit import Machine, emit_assembly
from tvm.backend.llvm_gpu.build import emit_kernels
from tvm.ir.module import IRModule
from tvm.runtime.device_module import DeviceModule
from tvm.target import Target

from .emitter import NvptxEmitter

TRIPLE = "nvptx64-nvidia-cuda"
OLDEST = "sm_75"  # of the machines that CUDA 13 knows; newer ones take its PTX too


def build(mod: IRModule, target: Target | str) -> DeviceModule:
    """The kernels of a lowered module as PTX."""
    machine = machine_of(Target(target))
    code = emit_kernels(mod, machine, NvptxEmitter)
    ptx = emit_assembly(code.text, machine)
    return DeviceModule(
        "cuda", "ptx", ptx, code.kernels, machine.cpu, forms={"ll": code.text}
    )


def emit_text(mod: IRModule, target: Target | str) -> str:
    """The PTX of lowered device functions."""
    return build(mod, target).source


def machine_of(target: Target) -> Machine:
    """What LLVM makes code for."""
    triple = str(target.attrs.get("mtriple", "")) or TRIPLE
    return Machine(triple, str(target.attrs.get("mcpu", "")) or OLDEST)
