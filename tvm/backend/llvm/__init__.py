"""Machine code through LLVM: functions as LLVM text, compiled by llvmlite."""

from __future__ import annotations

from tvm.support.lazy import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "build": "tvm.backend.llvm.module:build",
        "emit_text": "tvm.backend.llvm.module:emit_text",
        "LLVMModule": "tvm.backend.llvm.module:LLVMModule",
    },
)
