"""The decorators of `I`: `@I.ir_module`, `@I.pyfunc`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any, Final

from tvm.ir.module import IRModule
from tvm.script.ir_builder.base import IRBuilder
from tvm.script.parser.core.entry import parse
from tvm.script.parser.core.utils import caller_names, inspect_class_capture

from . import builder

TOKEN: Final = "ir"
PYTHON_TOKEN: Final = "pyfunc"


def ir_module(mod: type | None = None, check_well_formed: bool = True) -> Any:
    """Decorate a Python class that is read as a module; without a class, under a builder: a frame.

    The class's functions carry the decorators of their dialects. Those under `@I.pyfunc` stay
    Python: the module has an outside function of their name, and the function itself in `pyfuncs`.
    A class with a class method `__ir_module__(mod)` decides what the decoration gives.
    """
    frame = sys._getframe(1)

    def decorate(cls: type) -> IRModule:
        if not inspect.isclass(cls):
            raise TypeError(f"Expect a class, but got: {cls}")
        names = {**caller_names(frame), **inspect_class_capture(cls)}
        made: IRModule = parse(cls, names, check_well_formed=check_well_formed)
        made.__name__ = cls.__name__  # type: ignore[attr-defined]
        made.pyfuncs.update(
            (name, value)
            for name, value in vars(cls).items()
            if getattr(value, "dispatch_token", None) == PYTHON_TOKEN
        )
        # a base class may say what stands for the module
        wrap = getattr(cls, "__ir_module__", None)
        return made if wrap is None else wrap(made)

    if mod is not None:
        return decorate(mod)
    if IRBuilder.is_in_scope():
        return builder.ir_module()
    return decorate


ir_module.dispatch_token = TOKEN  # type: ignore[attr-defined]


def pyfunc(func: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function of a module that stays a Python function."""
    func.dispatch_token = PYTHON_TOKEN  # type: ignore[attr-defined]
    return func


pyfunc.dispatch_token = PYTHON_TOKEN  # type: ignore[attr-defined]
