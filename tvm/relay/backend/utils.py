"""How generated functions are called, and their module's name."""

from __future__ import annotations

from enum import IntEnum


class CallType(IntEnum):
    """How a generated function is called."""

    Packed = 0
    CPacked = 1
    Unpacked = 2


def mangle_module_name(mod_name: str | None) -> str:
    """The name of a module in generated code; ValueError for one with other letters than ASCII."""
    if mod_name and not mod_name.isascii():
        raise ValueError(f"the name of a module is {mod_name!r}; legal: letters of ASCII")
    return f"tvmgen_{mod_name}" if mod_name else "tvmgen"
