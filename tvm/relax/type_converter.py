"""Arguments that are Python values become expressions before a function sees them."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any, Final, TypeVar

from .expr import Expr, convert_to_expr

F = TypeVar("F", bound=Callable[..., Any])
_ONE: Final = "`Expr`"
_MANY: Final = "`List[Expr]`"


class ArgsConverter:
    """Makes decorators that convert the arguments of a function.

    `None` stays `None`. Of `*args` and `**kwargs`, each value is converted.
    """

    @staticmethod
    def to_expr(*arg_names: str) -> Callable[[F], F]:
        """Each named argument becomes an expression."""
        return lambda func: _converting(func, dict.fromkeys(arg_names, _ONE))

    @staticmethod
    def to_list_expr(*arg_names: str) -> Callable[[F], F]:
        """Each named argument is a list, which becomes a list of expressions."""
        return lambda func: _converting(func, dict.fromkeys(arg_names, _MANY))

    @staticmethod
    def auto(func: F) -> F:
        """The arguments annotated as `Expr` or `List[Expr]` are converted, `Optional` or not."""
        hints = typing.get_type_hints(func)
        wanted = {name: _kind(hint) for name, hint in hints.items() if name != "return"}
        return _converting(func, {name: kind for name, kind in wanted.items() if kind})


args_converter: Final = ArgsConverter()


def _kind(hint: Any) -> str | None:
    """Which conversion an annotation asks for."""
    if isinstance(hint, type) and issubclass(hint, Expr):
        return _ONE if hint is Expr else None
    inner = [part for part in typing.get_args(hint) if part is not type(None)]
    if len(inner) != 1:
        return None
    if typing.get_origin(hint) is list:
        return _MANY if inner[0] is Expr else None
    return _kind(inner[0]) if type(None) in typing.get_args(hint) else None


def _converting(func: F, wanted: dict[str, str]) -> F:
    signature = inspect.signature(func)
    for name in wanted:
        if name not in signature.parameters:
            raise ValueError(
                f"args_converter: {func.__name__} has no argument {name!r}; "
                f"legal: {', '.join(signature.parameters)}"
            )

    @functools.wraps(func)
    def converted(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for name, kind in wanted.items():
            value = bound.arguments[name]
            form = signature.parameters[name].kind
            if form is inspect.Parameter.VAR_POSITIONAL:
                value = tuple([_convert(name, kind, item) for item in value])
            elif form is inspect.Parameter.VAR_KEYWORD:
                value = {key: _convert(name, kind, item) for key, item in value.items()}
            else:
                value = _convert(name, kind, value)
            bound.arguments[name] = value
        return func(*bound.args, **bound.kwargs)

    return typing.cast("F", converted)


def _convert(name: str, kind: str, value: Any) -> Any:
    if value is None:
        return None
    try:
        if kind is _ONE:
            return convert_to_expr(value)
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"a {type(value).__name__} is no list")
        return [convert_to_expr(item) for item in value]
    except Exception as error:
        raise TypeError(
            f"Argument `{name}` is expected to be converted to {kind}, "
            f"but failed with input value: {value}"
        ) from error
