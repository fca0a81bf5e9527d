"""Nodes of the IR as text, under the names that the runtime's users know."""

from __future__ import annotations

import importlib
from typing import Any

_JSON = "tvm.ir.json"  # a floor above, loaded when it is asked for


def AsRepr(obj: Any) -> str:
    """How an object shows itself."""
    return repr(obj)


def SaveJSON(obj: Any) -> str:
    """A node as JSON that `LoadJSON` reads."""
    text: str = importlib.import_module(_JSON).save_json(obj)
    return text


def LoadJSON(json_str: str) -> Any:
    """The node of a text made by `SaveJSON`."""
    return importlib.import_module(_JSON).load_json(json_str)
