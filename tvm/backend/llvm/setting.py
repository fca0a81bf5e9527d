"""All beside the program that decides the code of a compilation, for the names of cache entries."""

from __future__ import annotations

import json

from tvm.ir.op import customised
from tvm.ir.transform import PassContext
from tvm.runtime import debug_memory
from tvm.support.compiler_state import compiler_state
from tvm.support.dtype import custom_types
from tvm.target import datatype
from tvm.target.target import Target

from . import cache
from .machine import llvm_version
from .target import machine_of


def setting(target: Target) -> list[str] | None:
    """Texts that tell the setting; None where it has what no text tells, or nothing is kept.

    So it is where somebody watches the passes or adds to them, or brought rules of his own.
    """
    ctx = PassContext.current()
    if not cache.enabled() or target.kind.name != "llvm":
        return None
    if customised() or datatype.has_rules():
        return None
    if ctx.instruments or ctx.custom_passes:
        return None
    try:
        passes = [ctx.opt_level, list(ctx.required_pass), list(ctx.disabled_pass)]
        how = json.dumps([*passes, dict(ctx.config), custom_types()], sort_keys=True)
    except (TypeError, ValueError):  # passes among the options
        return None
    guards = "guarded memory" if debug_memory.enabled() else ""
    machine = repr(machine_of(target))
    return [compiler_state(), str(llvm_version()), machine, str(target), how, guards]
