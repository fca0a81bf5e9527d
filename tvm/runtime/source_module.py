"""Modules that hold source text for others to look at or to export."""

from __future__ import annotations

from collections.abc import Sequence

from .files import write_beside
from .module import Module


class SourceModule(Module):
    """A text and the format that it is in; its functions cannot be called here."""

    kind = "source"

    def __init__(self, code: str, fmt: str) -> None:
        super().__init__()
        self.code, self.fmt = code, fmt

    def get_property_mask(self) -> int:
        return 0

    def get_write_formats(self) -> Sequence[str]:
        return (self.fmt,)

    def inspect_source(self, fmt: str = "") -> str:
        return self.code

    def write_to_file(self, file_name: str, fmt: str = "") -> None:
        write_beside(file_name, self.code.encode())
