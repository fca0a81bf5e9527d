"""Which executor a module is built for, with options."""

from __future__ import annotations

from typing import ClassVar

from .named_options import NamedOptions


class Executor(NamedOptions):
    """An executor by name with its options."""

    KNOWN: ClassVar[dict[str, dict[str, str]]] = {
        "graph": {"link-params": "bool"},
        "aot": {
            "link-params": "bool", "unpacked-api": "bool", "interface-api": "str",
            "workspace-byte-alignment": "int", "constant-byte-alignment": "int",
        },
    }  # fmt: skip

    @staticmethod
    def list_registered_options(executor: str) -> dict[str, str]:
        """The options of an executor, with their types."""
        return dict(Executor.KNOWN[str(executor)])
