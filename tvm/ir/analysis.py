"""Questions about whole modules."""

from __future__ import annotations

from .expr import GlobalVar
from .module import IRModule
from .node import Node


def collect_call_map(module: IRModule) -> dict[GlobalVar, list[GlobalVar]]:
    """For each function, the functions of the module that it mentions, in order."""
    return {
        var: [callee for callee in _mentioned(func) if callee in module.functions]
        for var, func in module.functions.items()
    }


def _mentioned(func: Node) -> list[GlobalVar]:
    """Global variables in a function of any dialect, by the field tables."""
    found: dict[GlobalVar, None] = {}
    seen: set[int] = set()
    stack: list[object] = [func]
    while stack:
        item = stack.pop()
        if isinstance(item, GlobalVar):
            found[item] = None
        elif isinstance(item, Node):
            if id(item) in seen or item.EQUALITY == "unique":
                continue
            seen.add(id(item))
            names = [f.name for f in item.FIELDS if f.name != "span"]
            stack.extend(getattr(item, name) for name in reversed(names))
        elif isinstance(item, (tuple, list)):
            stack.extend(reversed(item))
        elif isinstance(item, dict):
            stack.extend(reversed([*item.keys(), *item.values()]))
    return list(found)
