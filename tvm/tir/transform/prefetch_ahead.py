"""Loops that say what they read next fetch it into the cache meanwhile.

    for k in range(16, annotations={"prefetch_ahead": 1024}):
        B[k * 64 : k * 64 + 64] = exp(A[i * 1024 + k * 64 : ...])
    ->
    for k in range(16):
        prefetch(&A[i * 1024 + k * 64] + 4096 bytes)       # of float32; one for each cache line
        B[k * 64 : k * 64 + 64] = exp(A[i * 1024 + k * 64 : ...])

Only whole vectors of parameters are fetched, at addresses that move with loops around. An address
beyond the memory does nothing.
"""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, walk
from tvm.tir.op import builtin

from .pass_form import tir_pass

AHEAD: Final = "prefetch_ahead"  # annotation of a loop: how many elements
_LINE: Final = 64


@tir_pass("tir.PrefetchAhead")
def PrefetchAhead(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No loop has the annotation; what it asked for is in the loop."""
    params = {buffer.data for buffer in func.buffer_map.values()}
    return func.with_body(_Fetcher(params).visit_stmt(func.body))


class _Fetcher(StmtExprMutator):
    def __init__(self, params: set[e.Var]) -> None:
        super().__init__()
        self._params = params

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_for_(self, op: s.For) -> s.Stmt:
        ahead = op.annotations.get(AHEAD)
        if ahead is None:
            return super().visit_for_(op)
        annotations = {key: value for key, value in op.annotations.items() if key != AHEAD}
        fetches = [
            fetch
            for load in self._loads(op)
            for fetch in _fetches(load, int(str(ahead)))
        ]
        return s.For(op.loop_var, op.min, op.extent, op.kind, s.SeqStmt.flatten(*fetches, op.body),
                     op.thread_binding, annotations, op.span)  # fmt: skip

    def _loads(self, loop: s.For) -> list[e.BufferLoad]:
        """Whole vectors of parameters, each once; not what is the same around the loop."""
        found: dict[Buffer, e.BufferLoad] = {}
        for node in walk(loop.body):
            if not isinstance(node, e.BufferLoad) or node.buffer.data not in self._params:
                continue
            base = _base_of(node)
            if base is None:
                continue
            if any(isinstance(v, e.Var) and v is not loop.loop_var for v in walk(base)):
                found.setdefault(node.buffer, node)
        return list(found.values())


def _base_of(load: e.BufferLoad) -> PrimExpr | None:
    """Where a vector of neighbours begins; None for others, and where lanes are not counted."""
    ramp = load.indices[0] if len(load.indices) == 1 else None
    if not isinstance(ramp, e.Ramp) or ramp.dtype.is_scalable:
        return None
    return ramp.base if isinstance(ramp.stride, e.IntImm) and ramp.stride.value == 1 else None


def _fetches(load: e.BufferLoad, ahead: int) -> list[s.Stmt]:
    base, size = _base_of(load), load.buffer.dtype.itemsize
    assert base is not None, "as chosen"
    address = builtin.address_of(e.BufferLoad(load.buffer, [base]))
    lanes = load.dtype.lanes
    starts = range(ahead * size, (ahead + lanes) * size, _LINE)
    lines = [builtin.handle_add_byte_offset(address, e.IntImm("int64", start)) for start in starts]
    return [s.Evaluate(builtin.prefetch(line)) for line in lines]
