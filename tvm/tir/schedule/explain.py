"""A schedule in words: what each step of its trace did, and the sentence of the rule, if any."""

from __future__ import annotations

import inspect
from typing import Any, Final

from tvm.ir.module import IRModule

from .instruction import Instruction
from .trace import Trace

_REASON: Final = "schedule_reason"  # the attribute in which rules leave a sentence


def explained(trace: Trace, mod: IRModule, methods: type) -> str:
    """One line a step, with what the primitive says of itself; `methods` has the primitives."""
    shown = trace.simplified(False)
    rows = [(text, _says(inst, methods)) for inst, text in zip(shown.insts, shown.as_python())]
    width = min(max((len(text) for text, _ in rows), default=0), 72)
    lines = [f"{text:<{width}}  # {says}" if says else text for text, says in rows]
    reasons = [str(f.attrs[_REASON]) for f in mod.functions.values() if _REASON in f.attrs]
    return "\n".join([*(f"# {reason}" for reason in reasons), *lines]) or "# nothing was done yet"


def _says(inst: Instruction, methods: type) -> str:
    found: Any = getattr(methods, inst.kind.method, None)
    return (inspect.getdoc(found) or "").split("\n", 1)[0]
