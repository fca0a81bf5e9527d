"""The attributes' node types of all operators, by name."""

from __future__ import annotations

import importlib

from .declare import ATTRS_CLASSES, RelayAttrs


def __getattr__(name: str) -> type[RelayAttrs]:
    importlib.import_module("tvm.relay.op")
    found = ATTRS_CLASSES.get(name)
    if found is None:
        raise AttributeError(f"module 'tvm.relay.op.op_attrs' has no attribute {name!r}")
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *ATTRS_CLASSES])
