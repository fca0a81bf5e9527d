"""Lowered kernels to WGSL with what Vulkan devices have beyond WebGPU: 64-bit numbers.

wgpu-native, which runs the kernels, reads i64, u64 and f64 as extensions of the language and makes
SPIR-V of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from tvm.backend.device.kernels import DeviceText
from tvm.backend.webgpu.codegen import WebGPUEmitter, emit_with
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.target import Target
from tvm.tir import expr as e
from tvm.tir.buffer import Buffer

_WIDE: Final = {"int64": "i64", "uint64": "u64", "float64": "f64"}


class VulkanEmitter(WebGPUEmitter):
    """One function of WGSL with wide numbers."""

    LANGUAGE = "WGSL for Vulkan"
    TYPES: ClassVar[Mapping[str, str]] = {**WebGPUEmitter.TYPES, **_WIDE}

    def index_of(self, buffer: Buffer, indices: Sequence[PrimExpr], lane: int | None) -> PrimExpr:
        """Indices are 32-bit numbers: no binding has more elements, and drivers know no others."""
        index = super().index_of(buffer, indices, lane)
        return e.Cast("int32", index) if index.dtype.bits == 64 and index.dtype.is_scalar else index


def emit_file(mod: IRModule, target: Target) -> DeviceText:
    """The WGSL file of the device functions of a module."""
    return emit_with(VulkanEmitter, mod, target)


def emit_text(mod: IRModule, target: Target | str) -> str:
    """The WGSL text of lowered device functions."""
    return emit_file(mod, Target(target)).text
