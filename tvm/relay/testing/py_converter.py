"""Programs of Relay run from Python, with functions, references and data as values."""

from __future__ import annotations

from typing import Any

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.relay.backend.interpreter import Interpreter
from tvm.runtime import cpu
from tvm.target import Target


def run_as_python(
    expr: RelaxExpr, mod: IRModule | None = None, target: Any = Target("llvm")  # noqa: B008
) -> Any:
    """The value of an expression over the functions of a module.

    Tensors come as tensors of the runtime, tuples as `tvm.runtime.container.ADT`, values of data
    types as `ConstructorValue`, references as `RefValue`; functions as functions of Python.
    """
    return Interpreter(IRModule() if mod is None else mod, cpu(), target).evaluate(expr)
