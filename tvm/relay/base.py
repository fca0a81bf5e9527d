"""Texts of nodes, and what a variable is."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from tvm.ir.scriptable import PRINTERS
from tvm.ir.span import SequentialSpan, SourceName, Span
from tvm.relax.base_expr import Id

from .expr import RelayNode

__all__ = ["Id", "RelayNode", "SequentialSpan", "SourceName", "Span", "astext", "pretty_print"]

__STD_PATH__: Final = str(Path(__file__).parent / "std")


def astext(obj: Any, show_meta_data: bool = True, annotate: Any = None) -> str:
    """An expression, type or module in the text format that `relay.parse` reads."""
    return PRINTERS.get("relay")(obj, {"show_meta_data": show_meta_data, "annotate": annotate})


def pretty_print(obj: Any) -> str:
    """An expression, type or module as text without the format's version."""
    return PRINTERS.get("relay")(obj, {"show_meta_data": False, "head": False})
