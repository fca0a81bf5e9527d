"""The one registry class; each instance is owned by the package of its keys."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from typing import Generic, TypeVar

from .suggest import did_you_mean

T = TypeVar("T")


def _caller_location(depth: int) -> str:
    frame = sys._getframe(depth + 1)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


class Registry(Generic[T]):
    """Named values of one kind, which refuse duplicates and suggest near names.

    `homes` are the modules that fill the registry; a look-up that fails imports one after the
    other until one has the name, so what is found never depends on what somebody imported earlier.
    """

    def __init__(self, kind: str, *homes: str) -> None:
        self.kind = kind
        self._homes = list(homes)
        self._values: dict[str, T] = {}
        self._locations: dict[str, str] = {}

    def register(self, name: str, value: T, *, override: bool = False, depth: int = 1) -> T:
        """Add `value`; a second registration of a name is refused with both locations named."""
        location = _caller_location(depth)
        if name in self._values and not override:
            first = self._locations[name]
            raise KeyError(
                f"{self.kind} {name!r} is registered twice: at {first} and at {location}"
            )
        self._values[name] = value
        self._locations[name] = location
        return value

    def remove(self, name: str) -> None:
        """Forget `name`."""
        del self._values[name]
        del self._locations[name]

    def _load_homes(self, name: str | None = None) -> None:
        """Import homes until one of them has registered `name`, or all."""
        while self._homes and name not in self._values:
            home = self._homes[0]
            importlib.import_module(home)
            if self._homes and self._homes[0] == home:  # the import may have looked up too
                self._homes.pop(0)

    def find(self, name: str) -> T | None:
        """The value called `name`, or None."""
        value = self._values.get(name)
        if value is None and self._homes:
            self._load_homes(name)
            value = self._values.get(name)
        return value

    def seen(self, name: str) -> T | None:
        """The value called `name` if something has registered it so far; imports nothing."""
        return self._values.get(name)

    def seen_items(self) -> list[tuple[str, T]]:
        """What is registered so far, with its names; imports nothing."""
        return sorted(self._values.items(), key=lambda item: item[0])

    def get(self, name: str) -> T:
        """The value called `name`; a KeyError with near names when there is none."""
        value = self.find(name)
        if value is None:
            raise KeyError(f"no {self.kind} {name!r}{did_you_mean(name, self._values)}")
        return value

    def names(self) -> list[str]:
        """All names, sorted."""
        self._load_homes()
        return sorted(self._values)

    def __contains__(self, name: str) -> bool:
        return self.find(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())
