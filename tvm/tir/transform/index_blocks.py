"""Loops over indices from data in blocks, so that the checks of a block stand ahead of its work.

    for i in range(n):          for io in range(n // 32):
        B[i] = A[I[i]]    ->        check I[io*32 : io*32 + 32]
                                    for ii in range(32):
                                        B[io*32 + ii] = A[I[io*32 + ii]]
                                for t in range(n % 32):
                                    check I[n // 32 * 32 + t]
                                    ...

A CPU works on several blocks at a time, as it foresees that the checks succeed: where an index is
used for a few elements only, it checks while it waits for those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.functor import statements, substitute
from tvm.tir.op import arith as ops
from tvm.tir.renew_defs import DefRenewer

from .index_check import IndexCheck
from .index_look import MIN_LANES

_VECTORS: Final = 8  # of 32-bit halves of indices, in a block
# unrolled, a loop over single elements could not be vectorized any more
_UNROLL: Final = "llvm.loop.unroll.count"
_WORK: Final = 64  # elements for each index; for more, checks of all indices cost nothing


def lanes_of_a_look(body: s.Stmt, checks: Sequence[IndexCheck], lanes: int) -> int:
    """How wide its vectors are: `lanes`, where an index is that of a row.

    Beside gathers of single elements, the widest vectors are slower.
    """
    loops = (node for node in statements(body, s.For))
    rows = any(not ops.is_one(loop.extent) for loop in loops)
    single = all(check.covers() == 1 for check in checks)
    return lanes if rows and single else MIN_LANES


def iterations_of_a_block(loop: s.For, checks: Sequence[IndexCheck], lanes: int) -> int:
    """How many iterations have enough indices for a look; 1 if the loop is better left alone."""
    if loop.kind is not s.ForKind.SERIAL or loop.annotations or not checks:
        return 1
    covered = [check.covers() for check in checks]
    count = max(_VECTORS * lanes // 2 // min(covered), 1) if all(covered) else 1
    if isinstance(loop.extent, e.IntImm) and loop.extent.value < 2 * count:
        return 1
    return count if _is_little(loop.body) else 1


def in_blocks(
    loop: s.For,
    count: int,
    lanes: int,
    checks: Sequence[IndexCheck],
    body: s.Stmt,
    ahead: Callable[[list[IndexCheck], s.Stmt], s.Stmt],
) -> s.Stmt:
    """The loop in blocks, and what remains one by one."""
    dtype = loop.loop_var.dtype
    name = loop.loop_var.name
    zero, step = ops.const(0, dtype), ops.const(count, dtype)
    blocks = ops.floordiv(loop.extent, step)
    remainder = ops.floormod(loop.extent, step)

    def piece(begin: PrimExpr, inner: s.For, is_whole: bool) -> s.Stmt:
        at = {loop.loop_var: ops.add(ops.add(loop.min, begin), inner.loop_var)}
        moved = [check.at(at, lanes) for check in checks]
        work = substitute(body, at)
        if is_whole:
            return ahead([check.along(inner) for check in moved], _around(inner, work))
        return _around(inner, ahead(moved, work))

    def counted(var: e.Var, extent: PrimExpr) -> s.For:
        kept = {_UNROLL: 1} if var is not whole and _is_scalar(body) else {}
        return s.For(var, zero, extent, s.ForKind.SERIAL, s.Evaluate(0), None, kept, loop.span)

    whole = e.Var(f"{name}_block", dtype)
    outer = counted(whole, blocks)
    inner = counted(e.Var(name, dtype), step)
    parts = [_around(outer, piece(ops.multiply(outer.loop_var, step), inner, True))]
    if not ops.is_zero(remainder):
        left = counted(e.Var(name, dtype), remainder)
        parts.append(DefRenewer().visit_stmt(piece(ops.multiply(blocks, step), left, False)))
    return s.SeqStmt.flatten(parts)


def _around(loop: s.For, body: s.Stmt) -> s.Stmt:
    return s.For(loop.loop_var, loop.min, loop.extent, loop.kind, body, None, loop.annotations,
                 loop.span)  # fmt: skip


def _is_scalar(body: s.Stmt) -> bool:
    """The elements are computed one by one."""
    vectors = (n for n in statements(body, s.For) if n.kind is s.ForKind.VECTORIZED)
    return all(ops.is_one(loop.extent) for loop in vectors)


def _is_little(body: s.Stmt) -> bool:
    """A few elements are computed for each index, by a few statements."""
    work, stack = 0, [(body, 1)]
    while stack:
        stmt, times = stack.pop()
        if isinstance(stmt, s.For):
            if not isinstance(stmt.extent, e.IntImm) or stmt.kind is s.ForKind.PARALLEL:
                return False
            stack.append((stmt.body, times * stmt.extent.value))
        elif isinstance(stmt, s.SeqStmt):
            stack += [(part, times) for part in stmt.seq]
        elif isinstance(stmt, s.BlockRealize):
            stack.append((stmt.block.body, times))
        elif isinstance(stmt, (s.BufferStore, s.Evaluate)):
            work += times
        else:
            return False
        if work > _WORK or times > _WORK:
            return False
    return True
