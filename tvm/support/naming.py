"""Fresh names that depend only on what was asked before, never on time or identity."""

from __future__ import annotations


class NameTable:
    """Hands out names that differ from all it gave or reserved before."""

    __slots__ = ("_next", "_taken")

    def __init__(self, taken: tuple[str, ...] | list[str] = ()) -> None:
        self._taken: set[str] = set(taken)
        self._next: dict[str, int] = {}

    def reserve(self, name: str) -> None:
        """Never hand out `name`."""
        self._taken.add(name)

    def __contains__(self, name: str) -> bool:
        return name in self._taken

    def fresh(self, name: str, separator: str = "_") -> str:
        """`name` itself the first time, then `name_1`, `name_2`, ..."""
        if name not in self._taken:
            self._taken.add(name)
            return name
        count = self._next.get(name, 0) + 1
        while f"{name}{separator}{count}" in self._taken:
            count += 1
        self._next[name] = count
        found = f"{name}{separator}{count}"
        self._taken.add(found)
        return found
