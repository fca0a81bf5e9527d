"""The names under which the printer's options were known to the runtime."""

from __future__ import annotations

from tvm.support.lazy import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "PrinterConfig": "tvm.script.printer:PrinterConfig",
        "Scriptable": "tvm.ir.scriptable:Scriptable",
    },
)
