"""Arguments that an operator cannot take, told in words where Python's own error says nothing.

A rule of an operator reads what it is given (`int(strides[0])`); what is no number fails there. The
error that users see names the operator, what it was given, and what it takes.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final, ParamSpec, TypeVar

from tvm.error import TVMError, message
from tvm.ir.expr import RelaxExpr
from tvm.ir.op import Op
from tvm.support.arguments import is_said

_P = ParamSpec("_P")
_R = TypeVar("_R")
RAW: Final = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError,
    ValueError,
)  # fmt: skip


def says_nothing(err: BaseException) -> bool:
    """True for an error of Python's own, or a broken assumption: it is not meant for users."""
    return not isinstance(err, TVMError) and (isinstance(err, AssertionError) or not is_said(err))


def refusing(func: Callable[_P, _R], name: str = "") -> Callable[_P, _R]:
    """The function; a TypeError tells its arguments where Python's own error would come out."""

    @functools.wraps(func)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return func(*args, **kwargs)
        except RAW as err:
            text = _refusal(name or func.__name__, func, args, kwargs, err)
            if text is None:
                raise
            raise TypeError(text) from err

    return call


def _refusal(
    name: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
    err: Exception,
) -> str | None:  # fmt: skip
    """What to say of a call that failed; None if the error says it."""
    if not says_nothing(err):
        return None
    try:
        given = inspect.signature(func).bind(*args, **kwargs).arguments
    except TypeError:
        return None  # Python says by itself what is missing or too many
    return message(
        f"{name}: its arguments do not fit ({err})", found=_shown(given), legal=legal_call(func)
    )


def _shown(given: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_short(value)}" for name, value in given.items())


def _short(value: Any) -> str:
    if isinstance(value, RelaxExpr):
        return f"a {type(value).__name__}"
    text = repr(value).replace("\n", " ")
    return text if len(text) <= 60 else f"{text[:57]}..."


def legal_call(func: Callable[..., Any]) -> str:
    """How a function is called: its parameters with their defaults."""
    parameters = inspect.signature(func).parameters.values()
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    return f"{func.__name__}{inspect.Signature(plain)}"


def misfit(op: Any, attrs: Any, types: str, err: Exception) -> str:
    """What to say of a call of an operator whose rule failed over its types or options."""
    build = op.get_attr("FRelayCall") if isinstance(op, Op) else None
    options = dict(attrs.items()) if hasattr(attrs, "items") else {}
    found = "; ".join(filter(None, [types, _shown(options)]))
    legal = "types and options that its rule takes" if build is None else legal_call(build)
    return message(
        f"{getattr(op, 'name', op)}: the operands do not fit its options ({err})",
        found=found, legal=legal,
    )  # fmt: skip
