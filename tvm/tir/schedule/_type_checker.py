"""Calls with arguments of other types than the annotations say are refused with a TypeError."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

FType = TypeVar("FType", bound=Callable[..., Any])
_NAMES = {list: "List", tuple: "Tuple", dict: "Dict", collections.abc.Sequence: "Sequence"}


def type_checked(func: FType) -> FType:
    """`func`, which now checks its arguments against its annotations before it runs.

    Lists and tuples both count as lists. Parameters without annotation, and names that cannot be
    resolved, are not checked.

    Raises
    ------
    TypeError
        for the first argument of another type; the message has both types.
    """
    signature = inspect.signature(func)

    @functools.wraps(func)
    def checked(*args: Any, **kwargs: Any) -> Any:
        wrong = _mismatch(func, signature.bind(*args, **kwargs))
        if wrong is not None:
            raise TypeError(wrong)
        return func(*args, **kwargs)

    return typing.cast(FType, checked)


def type_explained(func: FType) -> FType:
    """`func`, which checks its arguments as `type_checked` does once an error came out of it.

    For primitives, which are called by the thousand: a call that is right costs nothing more.
    """

    @functools.wraps(func)
    def explained(*args: Any, **kwargs: Any) -> Any:
        try:
            return func(*args, **kwargs)
        except Exception as err:
            if type(err).__module__ != "builtins":
                raise  # one of ours says enough
            try:
                bound = inspect.signature(func).bind(*args, **kwargs)
            except TypeError:
                raise err from None  # Python says by itself what is missing
            wrong = _mismatch(func, bound)
            if wrong is None:
                raise
            raise TypeError(wrong) from err

    return typing.cast(FType, explained)


def _mismatch(func: Callable[..., Any], bound: inspect.BoundArguments) -> str | None:
    """What to say of the first argument of another type; None if there is none."""
    hints = _hints(func)
    bound.apply_defaults()
    for name, value in bound.arguments.items():
        for found in _each(bound.signature.parameters[name], value):
            if name in hints and not _fits(found, hints[name]):
                return (
                    f"In `{func.__qualname__}`, type of `{name}` does not match signature. "
                    f'Expected "{_type_str(hints[name])}", found type: "{_shape_of(found)}".'
                )
    return None


@functools.lru_cache(maxsize=1024)
def _hints(func: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(func)
    except NameError:
        return {n: h for n, h in func.__annotations__.items() if not isinstance(h, str)}


def _each(parameter: inspect.Parameter, value: Any) -> Sequence[Any]:
    """The values that one annotation speaks of: several for `*args` and `**kwargs`."""
    if parameter.kind is parameter.VAR_POSITIONAL:
        return list(value)
    if parameter.kind is parameter.VAR_KEYWORD:
        return list(value.values())
    return [value]


def _fits(value: Any, hint: Any) -> bool:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or isinstance(hint, (str, TypeVar)):
        return True
    if hint is None or hint is type(None):
        return value is None
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is typing.Literal:
        return value in parts
    if origin is tuple:
        return isinstance(value, tuple) and _fits_tuple(value, parts)
    if origin is dict or origin is collections.abc.Mapping:
        return isinstance(value, Mapping) and all(
            _fits(k, parts[0]) and _fits(v, parts[1]) for k, v in value.items()
        )
    if origin in (list, collections.abc.Sequence):
        whole = isinstance(value, Sequence) and not isinstance(value, str)
        return whole and all(_fits(v, parts[0]) for v in value)
    if origin is collections.abc.Callable or hint is Callable:
        return callable(value)
    plain = origin if isinstance(origin, type) else hint
    if plain is float and isinstance(value, int):
        return True  # as type checkers see it
    return isinstance(value, plain) if isinstance(plain, type) else True


def _fits_tuple(value: tuple[Any, ...], parts: tuple[Any, ...]) -> bool:
    if len(parts) == 2 and parts[1] is Ellipsis:
        return all(_fits(v, parts[0]) for v in value)
    return len(value) == len(parts) and all(_fits(v, part) for v, part in zip(value, parts))


def _type_str(hint: Any) -> str:
    """How messages write an annotation: `List[int]`, `Optional[str]`, `Callable[[int], str]`."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        named = [_type_str(part) for part in parts if part is not type(None)]
        whole = named[0] if len(named) == 1 else f"Union[{', '.join(named)}]"
        return whole if len(named) == len(parts) else f"Optional[{whole}]"
    if origin is collections.abc.Callable:
        arguments = parts[0] if parts and isinstance(parts[0], list) else []
        return callable_str(*arguments, parts[-1]) if parts else callable_str()
    if hint is Ellipsis:
        return "..."
    if origin is not None:
        name = _NAMES.get(origin, getattr(origin, "__name__", str(origin)))
        return f"{name}[{', '.join([_type_str(part) for part in parts])}]"
    if hint is None or hint is type(None):
        return "None"
    return getattr(hint, "__name__", str(hint))


def _shape_of(value: Any) -> str:
    """The type of a value with the types of what it holds."""
    if isinstance(value, Mapping):
        keys = _joined([_shape_of(k) for k in value])
        return f"Dict[{keys}, {_joined([_shape_of(v) for v in value.values()])}]"
    if isinstance(value, tuple):
        return f"Tuple[{', '.join([_shape_of(v) for v in value])}]"
    if isinstance(value, list):
        return f"List[{_joined([_shape_of(v) for v in value])}]"
    return "None" if value is None else type(value).__name__


def _joined(names: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(names))
    return distinct[0] if len(distinct) == 1 else f"Union[{', '.join(distinct)}]"


def callable_str(*subtypes: Any) -> str:
    """`Callable[[A, B], R]` for the types of arguments and result, in this order."""
    if not subtypes:
        return "Callable"
    *arguments, result = subtypes
    return f"Callable[[{', '.join([_type_str(a) for a in arguments])}], {_type_str(result)}]"
