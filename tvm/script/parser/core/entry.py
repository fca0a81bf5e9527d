"""Reading a program: a decorated function or class, or a text."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, Final

from tvm.ir.json import load_json
from tvm.script.ir_builder.base import IRBuilder
from tvm.support.recursion import nested_programs

from .diagnostics import Source
from .error import ParserError
from .evaluator import Reported
from .parser import Parser
from .utils import inspect_class_capture, inspect_function_capture

_CHECKS_HOMES: Final = ("tvm.tir.script.well_formed", "tvm.relax.script.well_formed")

WELL_FORMED_ERROR_MESSAGE: Final = (
    "Program is not well-formed. If this is deliberate, consider "
    "setting check_well_formed in the top-level decorator to False "
    "(e.g., @I.ir_module(check_well_formed=False) or "
    "@R.function(check_well_formed=False))."
)


def default_names() -> dict[str, Any]:
    """The names that a text may use unless others are given: the dialects, and saved metadata."""
    ir, tir, relax = (
        importlib.import_module(f"tvm.script.{name}") for name in ("ir", "tir", "relax")
    )
    reader = SimpleNamespace(ir=SimpleNamespace(load_json=load_json))
    return {"I": ir, "ir": ir, "T": tir, "tir": tir, "R": relax, "relax": relax, "tvm": reader}


def scan_macro(
    program: Any, extra_vars: Mapping[str, Any] | None = None
) -> tuple[Source, dict[str, Any]]:
    """The text of a macro, and the names it captures."""
    source = Source(program)
    return source, dict(default_names() if extra_vars is None else extra_vars)


def parse(
    program: Any, extra_vars: Mapping[str, Any] | None = None, check_well_formed: bool = True
) -> Any:
    """The function or module of a program: a text, a syntax tree, a Python function or class.

    The program sees the names in `extra_vars`; for a text the dialects `I`, `T`, `R` by default.
    Raises a DiagnosticError with file, line and column of each mistake.
    """
    if extra_vars is None:
        extra_vars = _captured(program)
    source = Source(program)
    parser = Parser(source, _annotations(program), extra_vars)
    with nested_programs(), IRBuilder() as builder:
        parser.parse()
        if builder.result is None:
            start = ast.Pass(lineno=1, col_offset=0, end_lineno=1, end_col_offset=1)
            parser.diag.note(start, "the program defines no function and no module")
            parser.raise_if_wrong()
        result = builder.get()
        if check_well_formed:
            _check(parser, source, result)
    return result


def _captured(program: Any) -> dict[str, Any]:
    if inspect.isfunction(program):
        return inspect_function_capture(program)
    if inspect.isclass(program):
        return inspect_class_capture(program)
    return default_names()


def _annotations(program: Any) -> dict[str, dict[str, Any]] | None:
    """What Python made of the annotations of a function, or of the functions of a class."""
    if inspect.isfunction(program):
        return {program.__name__: dict(program.__annotations__)}
    if inspect.isclass(program):
        return {
            name: dict(func.__annotations__)
            for name, func in vars(program).items()
            if inspect.isfunction(func)
        }
    return None


def _check(parser: Parser, source: Source, result: Any) -> None:
    for home in _CHECKS_HOMES:
        check = importlib.import_module(home).check
        try:
            check(result)
        except Exception as err:
            tree = source.as_ast()
            text = f"{WELL_FORMED_ERROR_MESSAGE}\n\nTraceback: {err}"
            try:
                parser.report_error(tree.body[0], ParserError(tree.body[0], text))
            except Reported:
                parser.raise_if_wrong()
