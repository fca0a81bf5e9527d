"""The text of one kernel file while it grows: helpers, global words, and functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tvm.backend.c_family.text import Lines
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


class FunctionText(Lines):
    """The lines of a function of a file."""

    def __init__(self, file: SourceFile) -> None:
        super().__init__()
        self.file = file

    def taken(self, name: str) -> bool:
        return name in self.file.names
