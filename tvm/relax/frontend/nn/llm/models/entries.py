"""Entries of a configuration that somebody else wrote: asked for by name and kind."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tvm.error import ArgumentValueError, message

LARGEST: Final = 2**31 - 1      # what a size may be
MAX_LAYERS: Final = 1000
_MISSING: Final = object()


class Entries(Mapping[str, Any]):
    """A mapping whose values are checked when they are asked for; `null` counts as missing."""

    def __init__(self, values: Mapping[str, Any], what: str) -> None:
        self._values, self._what = values, what

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def with_values(self, **values: Any) -> Entries:
        """The same with other values."""
        return Entries({**self._values, **values}, self._what)

    def size(self, name: str, default: Any = _MISSING, most: int = LARGEST) -> int:
        """A number from 1 on."""
        value = self._given(name, default)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if type(value) is not int or not 1 <= value <= most:
            raise self.wrong(name, value, f"a whole number from 1 to {most}")
        return value

    def number(self, name: str, default: Any = _MISSING) -> float:
        """A finite number above 0."""
        value = self._given(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.wrong(name, value, "a number above 0")
        if not (math.isfinite(value) and 0 < value < 1e30):
            raise self.wrong(name, value, "a number above 0")
        return float(value)

    def truth(self, name: str, default: bool = False) -> bool:
        """True or false."""
        value = self._given(name, default)
        if not isinstance(value, bool):
            raise self.wrong(name, value, "true or false")
        return value

    def text(self, name: str, default: Any = _MISSING) -> str:
        """A text."""
        value = self._given(name, default)
        if not isinstance(value, str):
            raise self.wrong(name, value, "a text")
        return value

    def numbers(self, name: str, count: int) -> list[float]:
        """So many numbers above 0."""
        values = self._given(name, _MISSING)
        if not isinstance(values, list) or len(values) != count:
            raise self.wrong(name, values, f"a list of {count} numbers")
        return [Entries({name: value}, self._what).number(name) for value in values]

    def texts(self, name: str, count: int) -> list[str] | None:
        """So many texts or more, if there are any."""
        values = self._given(name, None)
        if values is None:
            return None
        fits = isinstance(values, list) and all(isinstance(value, str) for value in values)
        if not fits or len(values) < count:
            raise self.wrong(name, values, f"a list of {count} texts or more")
        return list(values)

    def group(self, name: str) -> Entries:
        """Entries of an entry; none if it is missing."""
        value = self._given(name, None)
        if value is not None and not isinstance(value, Mapping):
            raise self.wrong(name, value, "an object")
        return Entries(value or {}, f"{name} of {self._what}")

    def has(self, name: str) -> bool:
        """Whether there is a value that is not `null`."""
        return self._values.get(name) is not None

    def wrong(self, name: str, value: Any, legal: str) -> ArgumentValueError:
        """The error for an entry."""
        shown = repr(value)
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        return ArgumentValueError(message(f"{name} in {self._what}", found=shown, legal=legal))

    def _given(self, name: str, default: Any) -> Any:
        value = self._values.get(name)
        if value is not None:
            return value
        if default is _MISSING:
            raise ArgumentValueError(
                message(self._what, found=f"no entry {name!r}",
                        legal="the entries that such models have")
            )  # fmt: skip
        return default
