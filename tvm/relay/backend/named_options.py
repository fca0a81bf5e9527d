"""A choice by name, with options that belong to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from tvm.error import InternalError, TVMError, message
from tvm.ir.node import Field, Node, fields
from tvm.tir.expr import IntImm


class NamedOptions(Node):
    """One of some known names with values for some of its options."""

    __slots__ = ("flag_registry_name", "name", "options")
    KNOWN: ClassVar[dict[str, dict[str, str]]] = {}  # name -> option -> type
    DEFAULTS: ClassVar[dict[str, dict[str, Any]]] = {}  # name -> option -> value unless given
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
        self.options = dict(sorted({**self.DEFAULTS.get(name, {}), **options}.items()))
        self.flag_registry_name = what.lower()

    @property
    def attrs(self) -> dict[str, Any]:
        """The options that have a value."""
        return dict(self.options)

    def __getitem__(self, name: str) -> Any:
        if name not in self.options:
            raise InternalError(
                message(f"{self.name}[{name!r}]", found="no value for this option",
                        legal=", ".join(self.options) or "none")
            )  # fmt: skip
        return self.options[name]

    def __contains__(self, name: str) -> bool:
        return name in self.options

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NamedOptions) or type(other) is not type(self):
            return False
        return self.name == other.name and self.options == other.options

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        options = [f'"{key}": {_text(value)}' for key, value in self.options.items()]
        return self.name + (f"{{{', '.join(options)}}}" if options else "")

    __str__ = __repr__

    @classmethod
    def list_registered(cls) -> list[str]:
        """The known names."""
        return sorted(cls.KNOWN)

    @classmethod
    def known_options(cls, name: object) -> dict[str, str]:
        """The options of a known name, with their types."""
        if str(name) not in cls.KNOWN:
            legal = ", ".join(sorted(cls.KNOWN))
            raise TVMError(f'{cls.__name__} "{name}" is not defined; legal: {legal}')
        return dict(cls.KNOWN[str(name)])


FLAG: Final = "IntImm"
NUMBER: Final = "IntImm"
TEXT: Final = "runtime.String"


def _text(value: object) -> str:
    """The value of an option as it is printed."""
    if isinstance(value, bool):
        return f"T.bool({value})"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _fits(value: object, kind: str) -> bool:
    """True for a value of an option's type; truth values are numbers, as in saved options."""
    return _kind_of(value) == kind


def _kind_of(value: object) -> str:
    """The type of a value by the name that options are declared with."""
    if isinstance(value, (bool, int, IntImm)):
        return NUMBER
    return TEXT if isinstance(value, str) else type(value).__name__
