"""The FFI's shapes and texts, by the names that the runtime's users know, and tagged fields."""

from collections.abc import Iterable
from typing import Any

from .conversion import ShapeTuple, String

__all__ = ["ADT", "ShapeTuple", "String", "tuple_object"]


class ADT(list[Any]):
    """The fields of a value of Relay with the number of what made it; tuples have 0."""

    def __init__(self, tag: int, fields: Iterable[Any]) -> None:
        super().__init__(fields)
        self.tag = int(tag)

    @property
    def fields(self) -> list[Any]:
        """The fields in order."""
        return list(self)


def tuple_object(fields: Iterable[Any] | None = None) -> ADT:
    """A tuple of values."""
    return ADT(0, fields or ())
