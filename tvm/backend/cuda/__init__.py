"""CUDA C++ source: text first, and machine code when a kernel is launched."""

from __future__ import annotations

from tvm.support.lazy import lazy_names

# Text needs neither a compiler nor a driver, so `emit_text` does not load them.
__getattr__ = lazy_names(
    __name__,
    {
        "build": "tvm.backend.cuda.build:build",
        "emit_text": "tvm.backend.cuda.codegen:emit_text",
    },
)
