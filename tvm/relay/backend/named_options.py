"""A choice by name, with options that belong to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from tvm.error import TVMError
from tvm.ir.node import Field, Node, fields
from tvm.tir.expr import IntImm


class NamedOptions(Node):
    """One of some known names with values for its options; options without a value are None."""

    __slots__ = ("flag_registry_name", "name", "options")
    KNOWN: ClassVar[dict[str, dict[str, str]]] = {}  # name -> option -> type
    FIELDS: ClassVar[tuple[Field, ...]] = fields("name", "options")

    def __init__(self, name: str, options: Mapping[str, Any] | None = None) -> None:
        what, options = type(self).__name__, {str(k): v for k, v in (options or {}).items()}
        if name not in self.KNOWN:
            legal = ", ".join(sorted(self.KNOWN))
            raise TVMError(f'{what} "{name}" is not defined; legal: {legal}')
        unknown = [key for key in options if key not in self.KNOWN[name]]
        if unknown:
            raise TVMError(
                f'Attribute "{unknown[0]}" is not available on this {what}; '
                f"legal: {', '.join(self.KNOWN[name])}"
            )
        for key, value in options.items():
            wanted = self.KNOWN[name][key]
            if not _fits(value, wanted):
                raise TVMError(
                    f'Attribute "{key}" should have type "{wanted}" but instead found '
                    f'"{_kind_of(value)}"'
                )
        self.name = name
        self.options = options
        self.flag_registry_name = what.lower()

    def __getitem__(self, name: str) -> Any:
        return self.options.get(name)

    def __contains__(self, name: str) -> bool:
        return name in self.options

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NamedOptions) or type(other) is not type(self):
            return False
        return self.name == other.name and self.options == other.options

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.options!r})"

    __str__ = __repr__

    @classmethod
    def list_registered(cls) -> list[str]:
        """The known names."""
        return sorted(cls.KNOWN)


FLAG: Final = "IntImm"
NUMBER: Final = "IntImm"
TEXT: Final = "runtime.String"


def _fits(value: object, kind: str) -> bool:
    """True for a value of an option's type; truth values are numbers, as in saved options."""
    return _kind_of(value) == kind


def _kind_of(value: object) -> str:
    """The type of a value by the name that options are declared with."""
    if isinstance(value, (bool, int, IntImm)):
        return NUMBER
    return TEXT if isinstance(value, str) else type(value).__name__
