"""What goes wrong when a program is run: each names the node in the program."""

from __future__ import annotations

from tvm.error import TVMError, message
from tvm.ir.span import Span


class InterpreterError(TVMError):
    """A program that has no meaning, or none that this interpreter knows."""


class OutOfBoundsError(InterpreterError, IndexError):
    """An access outside of a buffer."""


class DivisionByZero(InterpreterError, ZeroDivisionError):
    """An integer division by zero."""


class AssertionFailed(InterpreterError, AssertionError):
    """The condition of an assertion of the program did not hold."""


def out_of_bounds(
    what: str, name: str, dim: int, index: int, extent: int, span: Span | None
) -> OutOfBoundsError:
    """The error of one access, with buffer, index and extent."""
    return OutOfBoundsError(
        message(
            f"{what} buffer {name} in dimension {dim}",
            found=f"index {index}, the extent is {extent}",
            where=None if span is None else str(span),
            legal=f"0 <= index < {extent}" if extent > 0 else "no index at all",
        )
    )
