"""The text of one kernel file while it grows: helpers, global words, and functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tvm.backend.c.names import c_name
from tvm.support.naming import NameTable


@dataclass
class SourceFile:
    """Parts of a file in the order in which they were first needed."""

    reserved: Sequence[str] = ()
    helpers: dict[str, str] = field(default_factory=dict)  # by name; the text stands once
    declarations: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    names: NameTable = field(init=False)

    def __post_init__(self) -> None:
        self.names = NameTable(list(self.reserved))

    def need(self, name: str, text: str) -> str:
        """Have a helper in the file; its name."""
        self.helpers.setdefault(name, text)
        self.names.reserve(name)
        return name


class FunctionText:
    """Indented lines of a function, and the names that it uses."""

    def __init__(self, file: SourceFile) -> None:
        self.file = file
        self.lines: list[str] = []
        self.indent = 1
        self._names = NameTable()

    def fresh(self, hint: str) -> str:
        """A name that neither the function nor the file has yet."""
        name = c_name(hint or "v")
        while name in self.file.names:
            name += "_"
        return self._names.fresh(name)

    def line(self, text: str) -> None:
        """Append a line."""
        self.lines.append("  " * self.indent + text)

    def raw(self, text: str) -> None:
        """Append lines as they are, such as preprocessor directives."""
        self.lines.extend(text.splitlines())

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
