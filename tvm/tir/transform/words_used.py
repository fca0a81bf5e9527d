"""Which operators a function calls: passes that replace a few ask before they look closer.

Functions come out of lowering with hundreds of checks of their arguments, and most need none of the
last passes; so the walk is done once for all of them.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.ir.op import Op
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.functor import children

_LEAVES: Final = frozenset((e.Var, e.SizeVar, e.IntImm, e.FloatImm, e.StringImm))
_KEPT: Final = 8
_recent: deque[tuple[s.Stmt, frozenset[str]]] = deque(maxlen=_KEPT)  # by the body itself


def words_used(body: s.Stmt) -> frozenset[str]:
    """The names of operators that are called (`tir.exp`), and of kinds of nodes (`FloorDiv`)."""
    for known, words in list(_recent):
        if known is body:
            return words
    words = _words(body)
    _recent.append((body, words))
    return words


def _words(body: s.Stmt) -> frozenset[str]:
    found: set[str] = set()
    stack: list[object] = [body]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind in _LEAVES:
            continue
        if isinstance(node, e.Call):
            if isinstance(node.op, Op):
                found.add(node.op.name)
            stack.extend(node.args)
        elif isinstance(node, (PrimExpr, s.Stmt)):
            found.add(kind.__name__)
            stack.extend(children(node))
    return frozenset(found)
