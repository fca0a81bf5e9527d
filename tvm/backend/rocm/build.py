"""Modules of HIP source; of LLVM's code for AMD's GPUs where the target has a triple."""

from __future__ import annotations

from tvm.backend.device.build import build_source
from tvm.backend.llvm import jit
from tvm.backend.llvm_gpu.build import emit_kernels
from tvm.ir.module import IRModule
from tvm.runtime.device_module import DeviceModule
from tvm.target import Target

from .amdgpu import AmdgpuEmitter, machine_of
from .codegen import emit_file


def build(mod: IRModule, target: Target | str) -> DeviceModule:
    """The kernels of a lowered module as HIP, or with `-mtriple=amdgcn-amd-amdhsa` by LLVM."""
    chosen = Target(target)
    if chosen.kind.name != "rocm" or not chosen.attrs.get("mtriple"):
        return build_source(mod, target, "rocm", "hip", emit_file)
    machine = machine_of(chosen)
    code = emit_kernels(mod, machine, AmdgpuEmitter)
    text = jit.emit_assembly(code.text, machine)
    binary = jit.emit_object(code.text, machine)
    return DeviceModule(
        "rocm", "amdgcn", text, code.kernels, machine.cpu, binary, {"ll": code.text}
    )
