"""Blocks of a kernel that have the form of given ones, for any sizes.

    pattern                                       kernel
    def matmul(a, b, c, M, N, K):                 for i, j, k in T.grid(64, 32, 16):
        for i, j, k in T.grid(M, N, K):               Z[i, j] += X[i, k] * Y[k, j]
            C[i, j] += A[i, k] * B[k, j]

    -> MatchResult(pattern, symbol_values=[64, 32, 16], matched_buffers=[X, Y, Z])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tvm.ffi.object import Object
from tvm.ir.expr import PrimExpr
from tvm.ir.node import Node
from tvm.ir.structural import structural_equal
from tvm.tir.analysis import undefined_vars
from tvm.tir.buffer import Buffer
from tvm.tir.expr import Var
from tvm.tir.function import PrimFunc
from tvm.tir.stmt import BlockRealize, SeqStmt, Stmt


class MatchResult(Object):
    """A pattern, and what its sizes and its buffers stand for, in the order of its parameters."""

    def __init__(
        self, pattern: PrimFunc, symbol_values: Sequence[PrimExpr],
        matched_buffers: Sequence[Buffer],
    ) -> None:  # fmt: skip
        self.pattern: Final = pattern
        self.symbol_values: Final = tuple(symbol_values)
        self.matched_buffers: Final = tuple(matched_buffers)


def top_statements(func: PrimFunc) -> list[Stmt] | None:
    """What stands one after the other in the root block of a function; None without one."""
    root = func.body
    if not isinstance(root, BlockRealize) or root.block.iter_vars:
        return None
    body = root.block.body
    return list(body.seq) if isinstance(body, SeqStmt) else [body]


def match_leading(
    stmts: Sequence[Stmt], patterns: Sequence[PrimFunc]
) -> list[tuple[MatchResult, int]]:
    """Matches of the first statements, each by the first pattern that fits, with their lengths."""
    found: list[tuple[MatchResult, int]] = []
    at = 0
    while at < len(stmts):
        for pattern in patterns:
            form = top_statements(pattern) or []
            result = _match(pattern, form, stmts[at : at + len(form)]) if form else None
            if result is not None:
                found.append((result, len(form)))
                at += len(form)
                break
        else:
            break
    return found


def _match(
    pattern: PrimFunc, form: Sequence[Stmt], stmts: Sequence[Stmt]
) -> MatchResult | None:
    if len(form) != len(stmts):
        return None
    given = [param for param in pattern.params if param not in pattern.buffer_map]
    extents = [extent for buffer in pattern.buffer_map.values() for extent in buffer.shape]
    symbols = {*given, *(var for extent in extents for var in undefined_vars(extent))}
    match = _Match(symbols)
    if not match.fits(list(form), list(stmts)):
        return None
    buffers = [pattern.buffer_map[p] for p in pattern.params if p in pattern.buffer_map]
    if any(var not in match.values for var in given) or any(b not in match.nodes for b in buffers):
        return None  # the statements do not tell them
    return MatchResult(
        pattern, [match.values[var] for var in given], [match.nodes[b] for b in buffers]
    )


class _Match:
    """Both sides walked at once; sizes stand for expressions, other variables for variables."""

    def __init__(self, symbols: set[Var]) -> None:
        self.symbols = symbols
        self.values: dict[Var, PrimExpr] = {}
        self.nodes: dict[Node, Any] = {}
        self._taken: set[Node] = set()

    def fits(self, form: Any, found: Any) -> bool:
        stack = [(form, found)]
        while stack:
            a, b = stack.pop()
            if isinstance(a, Var) and a in self.symbols:
                if not self._size(a, b):
                    return False
            elif isinstance(a, Node):
                if type(a) is not type(b):
                    return False
                if isinstance(a, Buffer) and isinstance(b, Buffer):
                    new = a not in self.nodes
                    if a.dtype != b.dtype or a.scope() != b.scope() or not self._tied(a, b):
                        return False
                    if new:
                        stack.append((a.shape, b.shape))
                elif isinstance(a, Var) and isinstance(b, Var):
                    if a.dtype != b.dtype or not self._tied(a, b):
                        return False
                else:
                    names = [field.name for field in a.FIELDS if not field.ignored]
                    stack += [(getattr(a, name), getattr(b, name)) for name in reversed(names)]
            elif isinstance(a, (tuple, list)):
                if not isinstance(b, (tuple, list)) or len(a) != len(b):
                    return False
                stack += reversed(list(zip(a, b)))
            elif not structural_equal(a, b):
                return False
        return True

    def _size(self, symbol: Var, value: Any) -> bool:
        if not isinstance(value, PrimExpr) or value.dtype != symbol.dtype:
            return False
        known = self.values.setdefault(symbol, value)
        return known is value or structural_equal(known, value)

    def _tied(self, a: Node, b: Node) -> bool:
        """One node for one node, in both directions."""
        if a in self.nodes:
            return self.nodes[a] is b
        if b in self._taken:
            return False
        self.nodes[a] = b
        self._taken.add(b)
        return True
