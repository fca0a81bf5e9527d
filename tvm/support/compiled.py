"""What the compiled core needs to be told; in plain Python it says nothing.

mypyc, which builds the core (docs/developing.md), takes a class to be complete: only classes so
marked may be derived from in modules that are not compiled, and exceptions stay Python's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

T = TypeVar("T")

# The build takes it for true: some annotations are for readers, and too narrow to be enforced.
COMPILED: Final = False

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr as mypyc_attr
    from typing_extensions import Never

    # `Given[int]`: callers are to give an int, and the body says what is wrong with anything else.
    # Of a plain `int`, compiled code would say it before, in words of its own, and refuse numpy's.
    if not COMPILED:
        Given: TypeAlias = T | Never  # noqa: RUF020 - T alone would be no generic alias
    else:
        Given: TypeAlias = T | Any
else:

    class Given:
        """`Given[T]` is T."""

        def __class_getitem__(cls, kind):
            return kind

    def mypyc_attr(**told):
        """Marks a class for mypyc; the class itself, unchanged."""
        return lambda cls: cls


def hashed_by_identity(cls: type) -> None:
    """Give a class Python's own hash of identity, for which no method is called.

    A class with `__eq__` has to say how it is hashed. The core compiles its method; in plain
    Python that method would cost more than most uses of the hash.
    """
    if not is_compiled(cls):
        cls.__hash__ = object.__hash__  # type: ignore[method-assign, assignment]


def called(cls: type, rule: Callable[..., Any]) -> None:
    """Make calls of a class's objects calls of `rule`, which takes the object first.

    Defined inside of a compiled class with a base, `__call__` changes how objects are laid out:
    code of the base and interpreted subclasses would read wild memory. A compiled function is no
    method either, so one of Python's stands around it.
    """

    def __call__(self: Any, *args: Any, **named: Any) -> Any:
        return rule(self, *args, **named)

    if is_compiled(cls):
        rule_or_method: Any = __call__
    else:
        rule_or_method = rule
    __call__.__doc__ = rule.__doc__
    cls.__call__ = rule_or_method  # type: ignore[method-assign]


def is_compiled(cls: type) -> bool:
    """True when the class is one of the compiled core."""
    return "__mypyc_attrs__" in vars(cls)
