"""HIP source for ROCm: CUDA C++ with names of its own."""

from __future__ import annotations

from tvm.support.lazy import lazy_names

# Text needs neither a compiler nor a driver, so `emit_text` does not load them.
__getattr__ = lazy_names(
    __name__,
    {
        "build": "tvm.backend.rocm.build:build",
        "emit_text": "tvm.backend.rocm.codegen:emit_text",
    },
)
