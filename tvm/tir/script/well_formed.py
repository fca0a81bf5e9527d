"""What is checked of TensorIR that was read from a program."""

from __future__ import annotations

from typing import Any

from tvm.ir.module import IRModule
from tvm.tir.analysis import verify_well_formed
from tvm.tir.function import PrimFunc


def check(program: Any) -> None:
    """Raise if a TensorIR function of the program is not well-formed."""
    if isinstance(program, IRModule):
        if any(isinstance(func, PrimFunc) for func in program.functions.values()):
            verify_well_formed(program)
    elif isinstance(program, PrimFunc):
        verify_well_formed(program)
