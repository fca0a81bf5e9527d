"""What a program's author writes around Relax: `@R.function`, `@R.macro`, `R.match_cast`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.relax.dpl.by_example import rewriter_from_module
from tvm.relax.dpl.rewrite import PatternMatchingRewriter
from tvm.relax.expr import Call, TupleGetItem
from tvm.script.parser.core.diagnostics import Source
from tvm.script.parser.core.entry import parse
from tvm.script.parser.core.parser import Parser, ScriptMacro
from tvm.script.parser.core.utils import (
    caller_names,
    inspect_class_capture,
    inspect_function_capture,
    is_defined_in_class,
)

from .builder import emit
from .proxies import as_struct_info

TOKEN: Final = "relax"


def function(
    f: Callable[..., Any] | None = None,
    pure: bool = True,
    private: bool = False,
    check_well_formed: bool = True,
) -> Any:
    """Decorate a Python function that is read as a Relax function.

    In the body of a class under `@I.ir_module` the function is left to the module's reading.
    """
    frame = sys._getframe(1)

    def decorate(func: Callable[..., Any]) -> Any:
        if not inspect.isfunction(func):
            raise TypeError(f"Expect a function, but got: {func}")
        if is_defined_in_class(frame, func):
            return func
        names = {**caller_names(frame), **inspect_function_capture(func)}
        return parse(func, names, check_well_formed=check_well_formed)

    return decorate if f is None else decorate(f)


function.dispatch_token = TOKEN  # type: ignore[attr-defined]


class RelaxMacro(ScriptMacro):
    """A piece of Relax that is read anew wherever it is called; its return is the call's value."""

    def parse_macro(self, parser: Parser) -> Any:
        """Read the body; gives the returned expression."""
        definition = self.get_macro_def()
        with parser.with_dispatch_token(TOKEN):
            *body, last = definition.body
            parser.visit_body(body)
            value = getattr(last, "value", None)
            if type(last).__name__ != "Return" or value is None:
                parser.visit_body([last])
                return None
            found = parser.eval_expr(value)
            # what is computed has a variable in the macro; the caller's is another one
            return emit(found) if isinstance(found, (Call, TupleGetItem)) else found


def macro(*args: Any, hygienic: bool = True) -> Any:
    """Decorate a Python function that becomes a macro.

    A hygienic macro sees the names where it is defined; any other, those where it is called.
    """
    frame = sys._getframe(1)

    def decorate(func: Callable[..., Any]) -> RelaxMacro:
        names: Mapping[str, Any] = {**caller_names(frame), **inspect_function_capture(func)}
        return RelaxMacro(Source(func), names, func, hygienic)

    if len(args) == 1 and inspect.isfunction(args[0]):
        return decorate(args[0])
    if args:
        raise ValueError("Invalid use of R.macro. Usage: @R.macro, @R.macro(), "
                         "@R.macro(hygienic=[True|False])")  # fmt: skip
    return decorate


def rewriter(rewriter_mod: IRModule | type) -> PatternMatchingRewriter:
    """Decorate a class of two Relax functions, `pattern` and `replacement`, that become a rewriter.

    See `PatternMatchingRewriter.from_module`, which takes a finished module.
    """
    if inspect.isclass(rewriter_mod):
        names = {**caller_names(sys._getframe(1)), **inspect_class_capture(rewriter_mod)}
        rewriter_mod = parse(rewriter_mod, names)
    if not isinstance(rewriter_mod, IRModule):
        raise TypeError(f"R.rewriter takes a class or an IRModule, found {rewriter_mod!r}")
    return rewriter_from_module(rewriter_mod)


rewriter.dispatch_token = "ir"  # type: ignore[attr-defined]  # the class is read as a module


class MatchCastPair:
    """A value, and what it is checked to be."""

    value: RelaxExpr
    struct_info: StructInfo

    def __init__(self, value: RelaxExpr, struct_info: StructInfo) -> None:
        self.value = value
        self.struct_info = struct_info


def match_cast(value: RelaxExpr, struct_info: Any) -> MatchCastPair:
    """A value that is checked at run time to be what the struct info says."""
    if value is None:
        raise ValueError("value of match_cast cannot be None")
    if struct_info is None:
        raise ValueError("struct_info of match_cast cannot be None")
    return MatchCastPair(value, as_struct_info(struct_info))
