"""Arguments of wrong kinds, told by name once a function has failed over one.

A function that is called right pays for nothing but the call: annotations are read when an error of
Python's own came out of it.
"""

from __future__ import annotations

import dis
import functools
import inspect
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Final, Literal, ParamSpec, TypeVar, Union

_P = ParamSpec("_P")
_R = TypeVar("_R")
_RAW: Final = (AttributeError, LookupError, OverflowError, TypeError, ValueError)
_RAISE: Final = dis.opmap["RAISE_VARARGS"]


class ArgumentKindError(TypeError, AttributeError):
    """An argument of a kind that has not what its function uses."""


def explained(func: Callable[_P, _R]) -> Callable[_P, _R]:
    """The function; a TypeError names the argument of a kind that is not as annotated."""

    @functools.wraps(func)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return func(*args, **kwargs)
        except _RAW as err:
            own = type(err).__module__ == "builtins"  # not one of ours, which says enough
            if isinstance(err, (TypeError, ValueError)) and is_said(err):
                own = False
            text = _wrong_argument(func, args, kwargs) if own else None
            if text is None:
                raise
            lacking = isinstance(err, AttributeError)
            raise (ArgumentKindError if lacking else TypeError)(text) from err

    return call


def check_options(
    func: Callable[..., Any],
    signature: inspect.Signature,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    """Refuse now what `func` would fail over later: the options that users see in `signature`.

    Raises TypeError for options that are missing, too many or of another kind than annotated.
    """
    if not signature.parameters and not args and not kwargs:
        return
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError as err:
        raise TypeError(f"{func.__name__}() {err}") from None
    annotations = inspect.get_annotations(func)
    # one of several words is told by a ValueError of the pass itself
    words = {name for name, kind in annotations.items() if "Literal" in str(kind)}
    text = _unfit(func, {name: value for name, value in given.items() if name not in words})
    if text is not None:
        raise TypeError(text)


def is_said(err: BaseException) -> bool:
    """True if a `raise` of a program made the error, with words of its own, and not Python."""
    trace = err.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    code = trace.tb_frame.f_code.co_code  # of functions in other languages there is none
    return 0 <= trace.tb_lasti < len(code) and code[trace.tb_lasti] == _RAISE


def _wrong_argument(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> str | None:
    """What to say of the first argument of a wrong kind; None if there is none."""
    try:
        given = inspect.signature(func).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return None  # Python says by itself what is missing
    return _unfit(func, given)


def _unfit(func: Callable[..., Any], given: Mapping[str, Any]) -> str | None:
    """What to say of the first argument of a wrong kind; None if there is none."""
    for name, value in given.items():
        annotation = inspect.get_annotations(func).get(name, Any)
        if not _fits(value, _evaluated(annotation, func)):
            asked = func.__qualname__.removesuffix(".__init__")
            return (
                f"{asked}: the argument `{name}` is of another kind\n"
                f"  found: {_shortened(value)} of type {type(value).__name__}\n"
                f"  legal: {annotation}"
            )
    return None


def _evaluated(annotation: Any, func: Callable[..., Any]) -> Any:
    """What an annotation means; anything, if it names what only checkers import."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, inspect.unwrap(func).__globals__)  # our own source text
    except (NameError, TypeError, AttributeError):
        return Any


def _shortened(value: object) -> str:
    text = repr(value).replace("\n", " ")
    return text if len(text) <= 60 else f"{text[:57]}..."


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of an annotated kind, as far as can be told without using it up."""
    if kind is None or kind is NoneType:
        return value is None
    origin, of = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in of)
    if origin is Literal:
        return value in of
    if isinstance(kind, type) and origin is None:
        return _is(value, kind)
    if not isinstance(origin, type):
        return True  # Any, variables, protocols
    if origin in (list, tuple) and not isinstance(value, (str, bytes)):
        origin = Sequence  # lists and tuples are taken for each other
    if not isinstance(value, origin):
        return False
    if isinstance(value, (str, bytes)) and of and of[0] is not Any:
        return str in of or object in of  # its letters are strings
    if isinstance(value, Mapping) and len(of) == 2:
        return all(_fits(k, of[0]) and _fits(v, of[1]) for k, v in value.items())
    if isinstance(value, Collection) and len({*of} - {...}) == 1:
        return all(_fits(one, of[0]) for one in value)
    return True


def _is(value: Any, kind: type) -> bool:
    """As `isinstance`, but for numbers of other libraries, and constants that hold one."""
    if kind in (bool, int, float) and not isinstance(value, Real):
        value = getattr(value, "value", value)
    if kind is bool:
        return isinstance(value, Integral) or type(value).__name__ in ("bool", "bool_")
    if kind is int:
        return isinstance(value, Integral)
    if kind is float:
        return isinstance(value, Real)
    try:
        return isinstance(value, kind)
    except TypeError:
        return True  # a protocol that is not to be asked
