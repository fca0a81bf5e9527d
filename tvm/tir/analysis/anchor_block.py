"""The block of a module that is worth scheduling first."""

from __future__ import annotations

from tvm.ir.module import IRModule
from tvm.support.arguments import explained
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc

from .flops import estimate_tir_flops


@explained
def find_anchor_block(mod: IRModule) -> s.Block | None:
    """The reduction block (one with an init) with the most operations; None without one."""
    best: s.Block | None = None
    most = -1.0
    for func in mod.functions.values():
        if not isinstance(func, PrimFunc):
            continue
        for block, nest in _reductions(func.body):
            flops = estimate_tir_flops(nest)
            if flops > most:
                best, most = block, flops
    return best


def _reductions(body: s.Stmt) -> list[tuple[s.Block, s.Stmt]]:
    """The blocks with an init, each with the outermost loop around it."""
    found: list[tuple[s.Block, s.Stmt]] = []
    stack: list[tuple[s.Stmt, s.Stmt | None]] = [(body, None)]
    while stack:
        stmt, nest = stack.pop()
        if isinstance(stmt, s.For):
            nest = stmt if nest is None else nest
        elif isinstance(stmt, s.Block):
            if stmt.init is not None:
                found.append((stmt, stmt if nest is None else nest))
            nest = None if not stmt.iter_vars else nest
        children = [c for c in _direct(stmt) if isinstance(c, s.Stmt)]
        stack.extend([(child, nest) for child in reversed(children)])
    return found


def _direct(stmt: s.Stmt) -> list[object]:
    if isinstance(stmt, s.SeqStmt):
        return list(stmt.seq)
    if isinstance(stmt, s.BlockRealize):
        return [stmt.block]
    parts = (getattr(stmt, name, None) for name in ("then_case", "else_case", "body"))
    return [part for part in parts if part is not None]


