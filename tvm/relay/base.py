"""Texts of nodes, and what a variable is."""

from __future__ import annotations

from typing import Any

from tvm.ir.scriptable import PRINTERS
from tvm.relax.base_expr import Id

from .expr import RelayNode

__all__ = ["Id", "RelayNode", "astext", "pretty_print"]


def astext(obj: Any, show_meta_data: bool = True, annotate: Any = None) -> str:
    """An expression, type or module in the text format that `relay.parse` reads."""
    return PRINTERS.get("relay")(obj, {"show_meta_data": show_meta_data, "annotate": annotate})


def pretty_print(obj: Any) -> str:
    """An expression, type or module as text without the format's version."""
    return PRINTERS.get("relay")(obj, {"show_meta_data": False, "head": False})
