"""Which executor a module is built for, with options."""

from __future__ import annotations

from typing import Any, ClassVar

from tvm.ir.node import register_nodes

from .named_options import FLAG, NUMBER, TEXT, NamedOptions


class Executor(NamedOptions):
    """An executor by name with its options."""

    TYPE_KEY = "Executor"
    KNOWN: ClassVar[dict[str, dict[str, str]]] = {
        "graph": {"link-params": FLAG},
        "aot": {
            "link-params": FLAG, "unpacked-api": FLAG, "interface-api": TEXT,
            "workspace-byte-alignment": NUMBER, "constant-byte-alignment": NUMBER,
        },
    }  # fmt: skip
    DEFAULTS: ClassVar[dict[str, dict[str, Any]]] = {
        "graph": {"link-params": False},
        "aot": {"link-params": True},  # code that stands alone holds its parameters
    }

    @staticmethod
    def list_registered_options(executor: str) -> dict[str, str]:
        """The options of an executor, with their types."""
        return Executor.known_options(executor)


register_nodes(Executor)
