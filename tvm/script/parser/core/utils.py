"""What a decorated function or class can see."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any


def get_func_nonlocals(func: Callable[..., Any]) -> dict[str, Any]:
    """The variables of enclosing functions that a function uses."""
    code, cells = func.__code__, func.__closure__ or ()
    found: dict[str, Any] = {}
    for name, cell in zip(code.co_freevars, cells):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # the variable has no value yet
            continue
    return found


def inspect_function_capture(func: Callable[..., Any]) -> dict[str, Any]:
    """Everything that a function's body can see: globals, and variables around it."""
    return {**func.__globals__, **get_func_nonlocals(func)}


def inspect_class_capture(cls: type) -> dict[str, Any]:
    """Everything that the functions of a class can see."""
    module = sys.modules.get(cls.__module__)
    found: dict[str, Any] = dict(vars(module)) if module is not None else {}
    for value in vars(cls).values():
        if callable(value) and hasattr(value, "__code__"):
            found.update(inspect_function_capture(value))
    return found


def caller_names(frame: FrameType) -> dict[str, Any]:
    """The names in scope where a decorator is used, innermost last.

    Annotations and decorators are evaluated there by Python, so no closure holds what they use.
    """
    found: dict[str, Any] = {}
    chain = [frame]
    while _is_class_body(chain[-1]) and chain[-1].f_back is not None:
        chain.append(chain[-1].f_back)
    for outer in reversed(chain):
        found.update(outer.f_globals)
        found.update(outer.f_locals)
    return found


def _is_class_body(frame: FrameType) -> bool:
    return "__qualname__" in frame.f_locals and "__module__" in frame.f_locals


_ANNOTATORS = ("ir_module", "rewriter")


def is_defined_in_class(frames: Sequence[FrameType] | FrameType, obj: Any) -> bool:
    """True in the body of a class that will be read as a whole (`@I.ir_module`, `@R.rewriter`)."""
    frame = frames if isinstance(frames, FrameType) else frames[2]
    frame = getattr(frame, "frame", frame)
    if not _is_class_body(frame):
        return False
    code = frame.f_code
    lines = linecache.getlines(code.co_filename, frame.f_globals)
    at = code.co_firstlineno - 1
    # The class's code starts at its first decorator; decorators of the class come until `class`.
    while 0 <= at < len(lines) and not lines[at].lstrip().startswith("class"):
        text = lines[at].strip()
        if text.startswith("@") and any(word in text for word in _ANNOTATORS):
            return True
        at += 1
    return False
