"""What the parts of a search share: how they print, and what a missing method says."""

from __future__ import annotations

from typing import Any, NoReturn

from tvm.error import TVMError, message
from tvm.ffi.object import Object


class Component(Object):
    """A part of a search that users may replace by a class of their own."""

    def __str__(self) -> str:
        return f"meta_schedule.{type(self).__name__}({id(self):#x})"

    __repr__ = __str__

    def _outer(self) -> Any:
        """The object that others see; scripts ask for it where it was once another one."""
        return self

    def _missing(self, method: str) -> NoReturn:
        raise TVMError(
            message(
                f"{type(self).__name__}'s {method} method not implemented!",
                legal=f"a class that defines {method}, decorated with derived_object",
            )
        )


def unknown_kind(what: str, kind: object, legal: Any) -> ValueError:
    """The error for `create` of a kind that there is not."""
    return ValueError(
        message(f"Unknown {what}: {kind}", found=repr(kind), legal=", ".join(map(repr, legal)))
    )
