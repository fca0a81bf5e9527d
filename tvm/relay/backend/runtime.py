"""Which runtime a module is built for, with options."""

from __future__ import annotations

from typing import ClassVar

from tvm.ir.node import register_nodes

from .named_options import FLAG, NamedOptions


class Runtime(NamedOptions):
    """A runtime by name with its options."""

    TYPE_KEY = "Runtime"
    KNOWN: ClassVar[dict[str, dict[str, str]]] = {
        "cpp": {"system-lib": FLAG},
        "crt": {"system-lib": FLAG},
    }

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__

    @staticmethod
    def list_registered_options(runtime: str) -> dict[str, str]:
        """The options of a runtime, with their types."""
        return Runtime.known_options(runtime)


register_nodes(Runtime)
