"""The names that are visible while a program is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final


class VarTableFrame:
    """The names that one scope defined."""

    vars: set[str]

    def __init__(self) -> None:
        self.vars = set()

    def add(self, var: str) -> None:
        """Define a name; a scope defines it once."""
        if var in self.vars:
            raise ValueError(f"Variable {var} already defined in current scope")
        self.vars.add(var)

    def pop_all(self, fn_pop: Callable[[str], None]) -> None:
        """Take all names away."""
        for var in sorted(self.vars):
            fn_pop(var)
        self.vars.clear()


class VarTable:
    """Names to values, innermost scope last; `outer` are the names that the program captures."""

    frames: list[VarTableFrame]
    name2value: dict[str, list[Any]]

    def __init__(self, outer: Mapping[str, Any] | None = None) -> None:
        self.frames = []
        self.name2value = {}
        self.outer: Final = dict(outer or {})
        self._known: dict[int, Any] = {}  # by id; holding the object keeps its id its own
        self._outer_ids: set[int] | None = None

    @contextmanager
    def with_frame(self) -> Iterator[VarTableFrame]:
        """A scope for the time of the block."""
        frame = VarTableFrame()
        self.frames.append(frame)
        try:
            yield frame
        finally:
            self.frames.pop()
            frame.pop_all(self._pop)

    def _pop(self, name: str) -> None:
        values = self.name2value[name]
        values.pop()
        if not values:
            del self.name2value[name]

    def add(self, var: str, value: Any, allow_shadowing: bool = False) -> None:
        """Give a name a value in the innermost scope; with `allow_shadowing` it may have one."""
        frame = self.frames[-1]
        if allow_shadowing and var in frame.vars:
            # the older value stays known: what it stands for is still part of the program
            self.name2value[var][-1] = value
        else:
            frame.add(var)
            self.name2value.setdefault(var, []).append(value)
        self._known[id(value)] = value

    def lookup(self, name: str, default: Any = None) -> Any:
        """The value of a name."""
        values = self.name2value.get(name)
        return values[-1] if values else self.outer.get(name, default)

    def get(self) -> dict[str, Any]:
        """All visible names with their values."""
        return {**self.outer, **{name: values[-1] for name, values in self.name2value.items()}}

    def exist(self, value: Any) -> bool:
        """True when some name stands for exactly this object."""
        if id(value) in self._known:
            return True
        if self._outer_ids is None:
            self._outer_ids = {id(captured) for captured in self.outer.values()}
        return id(value) in self._outer_ids
