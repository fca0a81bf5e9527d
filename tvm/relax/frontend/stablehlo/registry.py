"""Converters: one function an operator of StableHLO.

    @convert("stablehlo.abs")
    def absolute(imp, node, x): ...

A converter gets the importer, the operation and its operands as Relax expressions; it gives one
expression, or a list of them for an operation with several results, and need not bind them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Final, TypeAlias

Converter: TypeAlias = "Callable[..., Any]"

_FAMILIES: Final = (
    "complex_numbers", "elementwise", "equations", "indexing", "lapack", "linear", "loops",
    "reduction", "regions", "shape", "special",
)  # fmt: skip
_CONVERTERS: Final[dict[str, Converter]] = {}


def convert(*names: str) -> Callable[[Converter], Converter]:
    """Declare the converter of operators by name."""

    def register(func: Converter) -> Converter:
        for name in names:
            assert name not in _CONVERTERS, f"{name} is declared twice"
            _CONVERTERS[name] = func
        return func

    return register


def converters() -> dict[str, Converter]:
    """All converters by name."""
    for family in _FAMILIES:
        importlib.import_module(f"{__package__}.{family}")
    return dict(_CONVERTERS)
