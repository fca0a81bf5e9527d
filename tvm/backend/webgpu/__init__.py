"""WGSL source, the language of WebGPU."""

from __future__ import annotations

from tvm.support.lazy import lazy_names

# Text needs neither a compiler nor a driver, so `emit_text` does not load them.
__getattr__ = lazy_names(
    __name__,
    {
        "build": "tvm.backend.webgpu.build:build",
        "emit_text": "tvm.backend.webgpu.pairs:emit_text",
    },
)
