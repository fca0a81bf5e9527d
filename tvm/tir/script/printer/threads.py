"""Threads that several launches share, which the script declares by `T.env_thread` first."""

from __future__ import annotations

from tvm.ir.node import Node
from tvm.script.printer.docsifier import Docsifier
from tvm.tir.expr import IterVar, Var
from tvm.tir.functor import walk
from tvm.tir.stmt import AttrStmt


def env_thread_needed(var: Var, d: Docsifier) -> bool:
    """True if a launch of this thread other than the first lies outside the first one's body."""
    root = next((f.node for f in d.frames if isinstance(f.node, Node)), None)
    if root is None:
        return False
    launches = [part for part in walk(root) if _launches(part, var)]
    if len(launches) < 2:
        return False
    inside = {id(part) for part in walk(launches[0].body)}
    return any(id(part) not in inside for part in launches[1:])


def _launches(part: object, var: Var) -> bool:
    return (
        isinstance(part, AttrStmt)
        and isinstance(part.node, IterVar)
        and part.node.var is var
        and part.attr_key in ("thread_extent", "virtual_thread")
    )
