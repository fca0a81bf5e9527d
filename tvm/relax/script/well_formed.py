"""What is checked of Relax functions that were read from a program."""

from __future__ import annotations

from typing import Any

from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.relax.analysis import well_formed
from tvm.relax.expr import Function


def check(program: Any) -> None:
    """Raise if a Relax function of the program is not well-formed."""
    functions = program.functions.values() if isinstance(program, IRModule) else [program]
    if any(isinstance(func, Function) for func in functions) and not well_formed(program):
        raise TVMError("a Relax function is not well-formed")
