"""Programs of Relay run from Python, with functions, references and data as values."""

from __future__ import annotations

import ast
from typing import Any

from tvm.ir.expr import RelaxExpr
from tvm.ir.json import save_json
from tvm.ir.module import IRModule
from tvm.relay.backend.interpreter import Interpreter
from tvm.runtime import cpu
from tvm.target import Target

OUTPUT_VAR_NAME = "_py_out"


def to_python(
    expr: RelaxExpr, mod: IRModule | None = None, target: Any = Target("llvm")  # noqa: B008
) -> ast.Module:
    """The syntax of a Python program that sets `_py_out` to the value of an expression.

    The program stands by itself: it carries the expression and the functions of the module.
    """
    both = save_json([IRModule() if mod is None else mod, expr])
    return ast.parse(
        "import tvm\n"
        "from tvm.relay.testing import run_as_python\n"
        f"_mod, _expr = tvm.ir.load_json({both!r})\n"
        f"{OUTPUT_VAR_NAME} = run_as_python(_expr, _mod, tvm.target.Target({str(target)!r}))\n"
    )


def run_as_python(
    expr: RelaxExpr, mod: IRModule | None = None, target: Any = Target("llvm")  # noqa: B008
) -> Any:
    """The value of an expression over the functions of a module.

    Tensors come as tensors of the runtime, tuples as `tvm.runtime.container.ADT`, values of data
    types as `ConstructorValue`, references as `RefValue`; functions as functions of Python.
    """
    return Interpreter(IRModule() if mod is None else mod, cpu(), target).evaluate(expr)
