"""Which executor a module is built for, with options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm.error import TVMError
from tvm.ffi.object import Object

_KNOWN: dict[str, dict[str, str]] = {
    "graph": {"link-params": "bool"},
    "aot": {
        "link-params": "bool", "unpacked-api": "bool", "interface-api": "str",
        "workspace-byte-alignment": "int", "constant-byte-alignment": "int",
    },
}  # fmt: skip


class Executor(Object):
    """An executor by name with its options."""

    def __init__(self, name: str, options: Mapping[str, Any] | None = None) -> None:
        options = dict(options or {})
        if name not in _KNOWN:
            raise TVMError(
                f"Executor {name!r} is not defined; legal: {', '.join(sorted(_KNOWN))}"
            )
        unknown = [key for key in options if key not in _KNOWN[name]]
        if unknown:
            raise TVMError(
                f"Attribute {unknown[0]!r} is not available on this Executor; "
                f"legal: {', '.join(_KNOWN[name])}"
            )
        self.name = name
        self.options = options
        self.flag_registry_name = "executor"

    def __getitem__(self, name: str) -> Any:
        return self.options.get(name)

    def __contains__(self, name: str) -> bool:
        return name in self.options

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Executor) and self.name == other.name
        return same and self.options == other.options  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self.name)

    @staticmethod
    def list_registered() -> list[str]:
        """The names of all executors."""
        return sorted(_KNOWN)

    @staticmethod
    def list_registered_options(executor: str) -> dict[str, str]:
        """The options of an executor, with their types."""
        return dict(_KNOWN[str(executor)])
