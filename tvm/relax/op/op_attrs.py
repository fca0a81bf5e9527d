"""The attributes' node types of all operators, under the module name that TVM gives them."""

from __future__ import annotations

import importlib

from .declare import ATTRS_CLASSES, OpAttrs


def __getattr__(name: str) -> type[OpAttrs]:
    importlib.import_module("tvm.relax.op")
    found = ATTRS_CLASSES.get(name)
    if found is None:
        raise AttributeError(f"module 'tvm.relax.op.op_attrs' has no attribute {name!r}")
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *ATTRS_CLASSES])
