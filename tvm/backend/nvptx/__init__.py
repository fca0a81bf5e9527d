"""PTX by LLVM, for NVIDIA's GPUs: neither CUDA's compiler nor its headers are needed."""

from __future__ import annotations

from tvm.support.lazy import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "build": "tvm.backend.nvptx.build:build",
        "emit_text": "tvm.backend.nvptx.build:emit_text",
    },
)
