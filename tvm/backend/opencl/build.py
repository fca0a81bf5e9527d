"""Modules of OpenCL C; of SPIR-V by LLVM where the target has a triple."""

from __future__ import annotations

from tvm.backend.device.build import build_source
from tvm.backend.llvm import jit
from tvm.backend.llvm_gpu.build import emit_kernels
from tvm.ir.module import IRModule
from tvm.runtime.device_module import DeviceModule
from tvm.target import Target

from .codegen import emit_file
from .spirv import SpirvEmitter, machine_of


def build(mod: IRModule, target: Target | str) -> DeviceModule:
    """The kernels of a lowered module as OpenCL C, or with `-mtriple=spirv64` as SPIR-V."""
    chosen = Target(target)
    if chosen.kind.name != "opencl" or not chosen.attrs.get("mtriple"):
        return build_source(mod, target, "opencl", "opencl", emit_file)
    machine = machine_of(chosen)
    code = emit_kernels(mod, machine, SpirvEmitter)
    text = jit.emit_assembly(code.text, machine)
    binary = jit.emit_object(code.text, machine)
    return DeviceModule("opencl", "spirv", text, code.kernels, "", binary, {"ll": code.text})
