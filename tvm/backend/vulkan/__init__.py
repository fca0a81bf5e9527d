"""WGSL source for Vulkan devices, whose driver library makes SPIR-V of it."""

from __future__ import annotations

from tvm.support.lazy import lazy_names

# Text needs neither a compiler nor a driver, so `emit_text` does not load them.
__getattr__ = lazy_names(
    __name__,
    {
        "build": "tvm.backend.vulkan.build:build",
        "emit_text": "tvm.backend.vulkan.codegen:emit_text",
    },
)
