"""Spans of everything: locations in the program's own text."""

from __future__ import annotations

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.relay.text_parser import parse


@declare_module_pass("AnnotateSpans", opt_level=0)
def AnnotateSpans(mod: IRModule, ctx: PassContext) -> IRModule:
    """The module as it reads back from its text, with spans of the source `GeneratedSource`."""
    return parse(mod.astext(), "GeneratedSource")
