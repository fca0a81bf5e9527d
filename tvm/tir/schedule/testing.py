"""Helpers for tests of schedules."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from tvm.ir.module import IRModule
from tvm.ir.structural import assert_structural_equal
from tvm.tir.function import PrimFunc

from .schedule import Schedule
from .trace import Trace


def assert_structural_equal_ignore_global_symbol(
    func1: PrimFunc | IRModule, func2: PrimFunc | IRModule, *args: Any, **kwargs: Any
) -> None:
    """Raise unless both are structurally equal; the names of the functions do not matter."""
    assert_structural_equal(_unnamed(func1), _unnamed(func2), *args, **kwargs)


def _unnamed(func: PrimFunc | IRModule) -> PrimFunc | IRModule:
    if isinstance(func, PrimFunc):
        return func.without_attr("global_symbol")
    table = {
        gvar: f.without_attr("global_symbol") if isinstance(f, PrimFunc) else f
        for gvar, f in func.functions.items()
    }
    return func.with_functions(table)


def verify_trace_roundtrip(
    sch: Schedule,
    mod: PrimFunc | IRModule,
    *,
    debug_mask: str | int = "all",
    text_format: str | Sequence[str] = ("python", "json"),
) -> Schedule:
    """Replay the trace of `sch` on the module it started from, through text; raise on a difference.

    Returns the schedule that the last replay made.
    """
    formats = [text_format] if isinstance(text_format, str) else list(text_format)
    new = sch
    for form in formats:
        new = Schedule(mod, debug_mask=debug_mask)
        if form == "json":
            Trace.apply_json_to_schedule(sch.trace.as_json(), new)
        elif form == "python":
            source = "\n".join(sch.trace.as_python())
            # the language of the text; words do not import it, a replay of text needs it
            exec(source, {"sch": new, "T": importlib.import_module("tvm.script.tir")})
        else:
            raise ValueError(f"text_format {form!r}; legal: 'json', 'python'")
        assert_structural_equal_ignore_global_symbol(new.mod, sch.mod)
        if not any(inst.kind.has_decision for inst in sch.trace.insts):
            assert str(new.trace) == str(sch.trace), "the replay has the same trace"
    return new
