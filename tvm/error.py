"""Error types that users can catch, and the form of their messages: asked, found, where, legal."""

from __future__ import annotations

import importlib
from typing import Any


def message(
    asked: str, *, found: str | None = None, where: str | None = None, legal: str | None = None
) -> str:
    """Compose a message; each part that is given gets a line of its own."""
    lines = [asked]
    for label, part in (("found", found), ("where", where), ("legal", legal)):
        if part is not None:
            indented = part.replace("\n", "\n         ")
            lines.append(f"  {label + ':':<7}{indented}")
    return "\n".join(lines)


class TVMError(RuntimeError):
    """The root of all errors that this project raises on purpose."""


class InternalError(TVMError):
    """A broken promise of ours, not a mistake of the user."""


class CheckError(InternalError):
    """A program does not pass a check of the compiler, where the original's checks fail, too.

    Those raise InternalError whoever is to blame, and that is what its users catch.
    """


class ScriptError(TVMError, ValueError):
    """A TVMScript program that cannot be read; the message points at line and column."""


class DiagnosticError(TVMError):
    """One or more diagnostics were reported; the message holds them all."""


class ShapeError(CheckError, ValueError):
    """A shape or a count that does not fit."""


class DTypeError(CheckError, TypeError):
    """A data type that does not fit."""


class DomainTypeError(DTypeError, AssertionError):
    """A variable and the range it runs over have different types."""


class ArgumentDTypeError(DTypeError, ValueError):
    """An argument is a tensor of another data type than its function takes."""


class ArgumentCountError(TVMError, TypeError):
    """A call with too many or too few arguments."""


class ArgumentNameError(ArgumentCountError, AssertionError):
    """Arguments by name that are not the function's, or not all of them; the original asserts."""


class ReturnTypeError(CheckError, TypeError):
    """A function of the user, as a pass, that gives a value of another type than is taken."""


class ArgumentValueError(TVMError, ValueError):
    """An argument of the right type whose value its function cannot take."""


class AssumptionError(ArgumentValueError, AssertionError):
    """An argument of another value than a frontend takes, which the original asserts."""


class KindError(TVMError, TypeError, AssertionError):
    """An argument of another kind than a frontend takes, which the original asserts."""


class MissingMethodError(TVMError, NotImplementedError):
    """A class of the user lacks the method that is asked of it."""


class BoundsError(CheckError, IndexError):
    """An index outside of its buffer."""


class ConfigError(TVMError, AttributeError):
    """An unknown key of a pass context, or a value of the wrong type."""


class ConfigFieldError(ConfigError, TypeError):
    """A record of options with a field that it has not, or of another type."""


class TargetError(CheckError, ValueError):
    """A target that does not exist or whose options do not fit."""


class ScheduleError(TVMError):
    """A primitive was asked for something that would not keep the program's meaning."""


class OpError(TVMError):
    """An operator that cannot be converted."""


class OpNotImplemented(OpError, NotImplementedError):
    """Operators that a frontend does not know; all of a model are listed at once."""


class OpAttributeRequired(OpError, AttributeError):
    """An attribute that the operator needs is missing."""


class OpAttributeInvalid(OpError, AttributeError):
    """An attribute has a value that the operator does not take."""


class OpAttributeUnImplemented(OpError, NotImplementedError):
    """An attribute value that is legal in the source framework but not converted."""


class RPCError(TVMError):
    """A failure at the other end of a remote call."""


class RPCSessionTimeoutError(RPCError, TimeoutError):
    """A remote session ran out of its time."""


class SignatureError(TVMError):
    """A file that no trusted key signed, or a key or signature that cannot be read."""


class CallTimeout(TVMError, TimeoutError):
    """A call took longer than its time limit."""


class CallCancelled(TVMError):
    """A call was stopped, because another thread asked for it."""


def register_error(name_or_cls: Any = None, cls: Any = None) -> Any:
    """Let errors of this name, or of this class, cross compiled code as instances of the class.

    A decorator, with or without a name; with both arguments it acts at once.
    """
    ffi = importlib.import_module("tvm.ffi")  # a floor above, which nobody needs before an error
    return ffi.register_error(name_or_cls, cls)


def div_ambiguity_error() -> RuntimeError:
    """The error of `a / b` on integers, where nobody can tell which rounding is wanted."""
    return RuntimeError(
        "TVM supports multiple types of integer divisions, please call div, indexdiv/indexmod, "
        "floordiv/floormod or truncdiv/truncmod directly to avoid ambiguity in the code."
    )
