"""C source: one self-contained file a module, compiled by the system's compiler where it runs."""

from __future__ import annotations

from tvm.support.lazy import lazy_names

# Text needs neither a compiler nor the runtime library, so `emit_text` does not load them.
__getattr__ = lazy_names(
    __name__,
    {
        "build": "tvm.backend.c.module:build",
        "emit_text": "tvm.backend.c.codegen:emit_text",
        "CSourceModule": "tvm.backend.c.module:CSourceModule",
    },
)
