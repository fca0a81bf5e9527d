"""Modules of HIP source."""

from __future__ import annotations

from tvm.backend.device.build import build_source
from tvm.ir.module import IRModule
from tvm.runtime.device_module import DeviceModule
from tvm.target import Target

from .codegen import emit_file


def build(mod: IRModule, target: Target | str) -> DeviceModule:
    """The kernels of a lowered module as HIP."""
    return build_source(mod, target, "rocm", "hip", emit_file)
