"""Modules of WGSL source."""

from __future__ import annotations

from tvm.backend.device.build import build_source
from tvm.ir.module import IRModule
from tvm.runtime.device_module import DeviceModule
from tvm.target import Target

from .pairs import emit_file


def build(mod: IRModule, target: Target | str) -> DeviceModule:
    """The kernels of a lowered module as WGSL."""
    return build_source(mod, target, "webgpu", "wgsl", emit_file)
