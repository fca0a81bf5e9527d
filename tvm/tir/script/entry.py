"""What a program's author writes around TensorIR: `@T.prim_func`, `@T.macro`, `T.Buffer`."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from tvm.script.parser.core.diagnostics import Source
from tvm.script.parser.core.entry import parse
from tvm.script.parser.core.parser import Parser, ScriptMacro
from tvm.script.parser.core.utils import (
    caller_names,
    inspect_function_capture,
    is_defined_in_class,
)
from tvm.tir.buffer import Buffer
from tvm.tir.expr import Var

from .builder import buffer
from .dtypes import handle

TOKEN: Final = "tir"


def prim_func(
    func: Callable[..., Any] | None = None, private: bool = False, check_well_formed: bool = True
) -> Any:
    """Decorate a Python function that is read as a TensorIR function.

    In the body of a class under `@I.ir_module` the function is left to the module's reading.
    """
    frame = sys._getframe(1)

    def decorate(python_func: Callable[..., Any]) -> Any:
        if not inspect.isfunction(python_func):
            raise TypeError(f"Expect a function, but got: {python_func}")
        if is_defined_in_class(frame, python_func):
            return python_func
        names = {**caller_names(frame), **inspect_function_capture(python_func)}
        made = parse(python_func, names, check_well_formed=check_well_formed)
        made.__name__ = python_func.__name__
        return made

    return decorate if func is None else decorate(func)


prim_func.dispatch_token = TOKEN  # type: ignore[attr-defined]


class TIRMacro(ScriptMacro):
    """A piece of TensorIR that is read anew wherever it is called."""

    def parse_macro(self, parser: Parser) -> None:
        """Read the body into the innermost frame."""
        definition = self.get_macro_def()
        with parser.with_dispatch_token(TOKEN):
            parser.visit_body(definition.body)


def macro(*args: Any, hygienic: bool = True) -> Any:
    """Decorate a Python function that becomes a macro (also under the name `T.inline`).

    A hygienic macro sees the names where it is defined; any other, those where it is called.
    """
    frame = sys._getframe(1)

    def decorate(func: Callable[..., Any]) -> TIRMacro:
        names: Mapping[str, Any] = {**caller_names(frame), **inspect_function_capture(func)}
        return TIRMacro(Source(func), names, func, hygienic)

    if len(args) == 1 and inspect.isfunction(args[0]):
        return decorate(args[0])
    if args:
        raise ValueError("Invalid use of T.macro. Usage: @T.macro, @T.macro(), "
                         "@T.macro(hygienic=[True|False])")  # fmt: skip
    return decorate


class BufferProxy:
    """`T.Buffer((16, 16), "float32")`, also with brackets as older programs write it."""

    __iter__: ClassVar[None] = None  # any key is legal, so that a loop over it would not end

    def __call__(
        self,
        shape: Any,
        dtype: str = "float32",
        data: Var | None = None,
        strides: Any = None,
        elem_offset: Any = None,
        scope: str = "global",
        align: int = 0,
        offset_factor: int = 0,
        buffer_type: str = "",
        axis_separators: Any = None,
    ) -> Buffer:
        return buffer(
            shape, dtype, data, strides, elem_offset, scope, align, offset_factor, buffer_type,
            axis_separators,
        )  # fmt: skip

    def __getitem__(self, keys: Any) -> Buffer:
        if not isinstance(keys, tuple):
            return self(keys)
        if len(keys) >= 2 and not isinstance(keys[1], str):
            return self(keys)
        return self(*keys)


class PtrProxy:
    """`T.Ptr("float32")`: an address as a parameter's annotation."""

    def __call__(self, dtype: Any, storage_scope: str = "global") -> Var:
        return handle(dtype().dtype if callable(dtype) else dtype, storage_scope)

    def __getitem__(self, keys: Any) -> Var:
        return self(*keys) if isinstance(keys, tuple) else self(keys)


BufferType: Final = BufferProxy()
Ptr: Final = PtrProxy()


def find_decorator_annotation(node: ast.FunctionDef, annotation: str, default: bool = True) -> bool:
    """The value of an option in the function's decorator: `@T.prim_func(private=True)`."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call):
            for keyword in decorator.keywords:
                if keyword.arg == annotation and isinstance(keyword.value, ast.Constant):
                    return bool(keyword.value.value)
    return default
