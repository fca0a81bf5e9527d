"""What is read once a tile is summed up is fetched while it is summed up.

    for k in range(64):                                   prefetch(&R[i * 64])
        acc[0:16] += x[k * 16 : ] * w[k]                  for k in range(64):
    C[i * 64 : ] = acc[0:16] + R[i * 64 : ]        ->         acc[0:16] += x[k * 16 : ] * w[k]
                                                          C[i * 64 : ] = acc[0:16] + R[i * 64 : ]

The other operand of a residual connection comes from an outer cache or from memory, in pieces of
rows that no processor foresees, and the sums of the next tile stand behind the wait for it: a core
looks ahead some hundred instructions, a tile has thousands. With vectors of half a cache line that
is 5 % of a ResNet-50; with vectors of whole lines, where each wait is for twice as many numbers, it
is nothing: they stay. An address beyond the memory does nothing. (Callahan, Kennedy, Porterfield,
"Software Prefetching", 1991.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, children, substitute, vars_in, walk
from tvm.tir.op import builtin

from .pass_form import tir_pass

_LINE: Final = 64
_MIN_ROUNDS: Final = 8  # of the sum: less time would not cover a fetch
_MAX_FETCHES: Final = 64
_MAX_COPIES: Final = 64  # of what stands in loops behind the sum


@tir_pass("tir.PrefetchEpilogues")
def PrefetchEpilogues(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Short vectors of parameters that are read behind a sum are fetched before it."""
    params = {buffer.data for buffer in func.buffer_map.values()}
    return func.with_body(_Fetcher(params).visit_stmt(func.body)) if params else func


class _Fetcher(StmtExprMutator):
    def __init__(self, params: set[e.Var]) -> None:
        super().__init__()
        self._params = params

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_seq_stmt_(self, op: s.SeqStmt) -> s.Stmt:
        at = next((n for n in reversed(range(len(op.seq))) if _is_sum(op.seq[n])), None)
        made = super().visit_seq_stmt_(op)
        if at is None or at + 1 == len(op.seq):
            return made
        fetches = self._fetches(op.seq[at], op.seq[at + 1 :])
        if not fetches:
            return made
        assert isinstance(made, s.SeqStmt), "as many statements as before"
        return s.SeqStmt.flatten(*made.seq[:at], *fetches, *made.seq[at:])

    def _fetches(self, sums: s.Stmt, behind: tuple[s.Stmt, ...]) -> list[s.Stmt]:
        known = {node.buffer.data for node in walk(sums) if isinstance(node, e.BufferLoad)}
        bound = {
            node.var if isinstance(node, s.LetStmt) else node.loop_var
            for stmt in behind for node in walk(stmt) if isinstance(node, (s.LetStmt, s.For))
        }  # fmt: skip
        found: dict[tuple[Buffer, str], e.BufferLoad] = {}
        for stmt in behind:
            for load in _loads(stmt):
                base = _base_of(load)
                if base is None or load.buffer.data not in self._params - known:
                    continue
                if load.dtype.lanes * load.buffer.dtype.itemsize >= _LINE:
                    continue
                if bound.isdisjoint(vars_in(base)):
                    found.setdefault((load.buffer, str(base)), load)
        fetches = [_fetch(load) for load in found.values()]
        return fetches if len(fetches) <= _MAX_FETCHES else []


def _is_sum(stmt: s.Stmt) -> bool:
    """Whether a loop of many rounds adds to memory of the function's own."""
    if not isinstance(stmt, s.For) or stmt.kind != s.ForKind.SERIAL:
        return False
    rounds = 1
    for node in walk(stmt):
        if isinstance(node, s.For):
            if not isinstance(node.extent, e.IntImm):
                return False
            rounds *= node.extent.value
        elif isinstance(node, s.BufferStore) and not _adds(node):
            return False
    return rounds >= _MIN_ROUNDS


def _adds(store: s.BufferStore) -> bool:
    if store.buffer.scope() != "local":
        return False
    return any(isinstance(n, e.BufferLoad) and n.buffer is store.buffer for n in walk(store.value))


def _loads(stmt: s.Stmt, copies: int = 1) -> Iterator[e.BufferLoad]:
    """The loads of a statement, those in loops of few rounds once for each round."""
    if isinstance(stmt, s.For) and isinstance(stmt.extent, e.IntImm):
        copies *= stmt.extent.value
        if stmt.kind != s.ForKind.SERIAL or copies > _MAX_COPIES:
            return
        for n in range(stmt.extent.value):
            value = stmt.min + n
            yield from _loads(substitute(stmt.body, {stmt.loop_var: value}), copies)
    elif isinstance(stmt, s.BufferStore):
        yield from (node for node in walk(stmt.value) if isinstance(node, e.BufferLoad))
    elif not isinstance(stmt, (s.Evaluate, s.While)):
        for child in children(stmt):
            if isinstance(child, s.Stmt):
                yield from _loads(child, copies)


def _base_of(load: e.BufferLoad) -> PrimExpr | None:
    """Where a vector of neighbours begins; None for others, and where lanes are not counted."""
    ramp = load.indices[0] if len(load.indices) == 1 else None
    if not isinstance(ramp, e.Ramp) or ramp.dtype.is_scalable:
        return None
    return ramp.base if isinstance(ramp.stride, e.IntImm) and ramp.stride.value == 1 else None


def _fetch(load: e.BufferLoad) -> s.Stmt:
    base = _base_of(load)
    assert base is not None, "as chosen"
    return s.Evaluate(builtin.prefetch(builtin.address_of(e.BufferLoad(load.buffer, [base]))))
