"""What the parts of a search share: how they print, and what a missing method says."""

from __future__ import annotations

from typing import Any, NoReturn

from tvm.error import ArgumentValueError, TVMError, message
from tvm.ffi.object import Object


def _get_default_str(obj: object) -> str:
    """How a part of the search prints that says nothing of itself: its class and its address."""
    return f"meta_schedule.{type(obj).__name__}({id(obj):#x})"


class Component(Object):
    """A part of a search that users may replace by a class of their own."""

    def __str__(self) -> str:
        return _get_default_str(self)

    __repr__ = __str__

    def _outer(self) -> Any:
        """The object that others see; scripts ask for it where it was once another one."""
        return self

    def _missing(self, method: str) -> NoReturn:
        part = next((c.__name__ for c in type(self).__mro__ if _is_open(c)), type(self).__name__)
        called = "".join(word[:1].upper() + word[1:] for word in method.split("_"))
        raise TVMError(
            message(
                f"{part}'s {called} method not implemented!",
                legal=f"a class that defines {method}, decorated with derived_object",
            )
        )


def _is_open(cls: type) -> bool:
    """One of our classes that users derive from."""
    return cls.__name__.startswith("Py") and cls.__module__.startswith("tvm.meta_schedule.")


def unknown_kind(what: str, kind: object, legal: Any) -> ArgumentValueError:
    """The error for `create` of a kind that there is not."""
    return ArgumentValueError(
        message(f"Unknown {what}: {kind}", found=repr(kind), legal=", ".join(map(repr, legal)))
    )
