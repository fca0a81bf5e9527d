"""What is checked of Relax functions that were read from a program."""

from __future__ import annotations

from typing import Any

from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.relax.analysis.well_formed import faults_of
from tvm.relax.expr import Function

_SHOWN = 10


def check(program: Any) -> None:
    """Raise if a Relax function of the program is not well-formed, with the rules it breaks."""
    functions = program.functions.values() if isinstance(program, IRModule) else [program]
    if not any(isinstance(func, Function) for func in functions):
        return
    faults = faults_of(program)
    if faults:
        more = [f"and {len(faults) - _SHOWN} more"] if len(faults) > _SHOWN else []
        lines = "\n".join(f"  {line}" for line in [*faults[:_SHOWN], *more])
        raise TVMError(f"a Relax function is not well-formed:\n{lines}")
