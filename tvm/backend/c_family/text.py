"""The lines of one function while it grows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

from tvm.support.naming import NameTable

from .names import c_name


class Lines(ABC):
    """Indented lines of a function, and the names that it uses."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.indent = 1
        self._names: NameTable = NameTable()

    @abstractmethod
    def taken(self, name: str) -> bool:
        """Whether the file, or the language, has the name already."""

    def fresh(self, hint: str) -> str:
        """A name that nothing in the function or the file has yet."""
        name = c_name(hint or "v")
        while self.taken(name):
            name += "_"
        return self._names.fresh(name)

    def line(self, text: str) -> None:
        """Append a line."""
        self.lines.append("  " * self.indent + text)

    def open(self, text: str) -> None:
        """Append a line that opens a block."""
        self.line(text)
        self.indent += 1

    def turn(self, text: str) -> None:
        """End a block and open the next one."""
        self.indent -= 1
        self.open(text)

    def close(self, text: str = "}") -> None:
        """Close a block."""
        self.indent -= 1
        self.line(text)

    @contextmanager
    def apart(self) -> Iterator[list[str]]:
        """Collect the lines made inside; the caller decides where they go."""
        outer, self.lines = self.lines, []
        try:
            yield self.lines
        finally:
            self.lines = outer
