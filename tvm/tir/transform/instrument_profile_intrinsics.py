"""Marks around loops (and functions) that a profiler times.

    for i in range(8):                          for i in range(8):
        for k in range(8): ...                      T.start_profile_intrinsic(2)
        for k in range(8): ...           ->         for k in range(8): ...
                                                    T.end_profile_intrinsic(2)
                                                    ...

Loops are numbered in the order of the text, behind the number of their function. Loops that stand
side by side in another loop are marked, unless `tir.instr_siblings` is off: then those nested at
most `tir.lwp_max_depth` deep. Loops with fewer than `tir.lwp_min_height` loops within stay as they
are, unless one before them in their sequence is taller, and so do those within a parallel one.
`tir.lwp_disable_func_prof` leaves out the functions.
"""

from __future__ import annotations

from dataclasses import dataclass

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, StmtExprVisitor
from tvm.tir.op import end_profile_intrinsic, start_profile_intrinsic

_next_number = [0]  # numbers go on from module to module, so that several can be told apart


@declare_module_pass("tir.InstrumentProfileIntrinsics")
def InstrumentProfileIntrinsics(mod: IRModule, ctx: PassContext) -> IRModule:
    """Each function, and each chosen loop, stands between a start and an end."""
    if ctx.option("tir.reset_start_id", False):
        _next_number[0] = 0
    changed = {}
    for var, func in mod.functions.items():
        changed[var] = _instrumented(func, ctx) if isinstance(func, PrimFunc) else func
    return mod.with_functions(changed)


def _instrumented(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    number = _taken()
    loops = _Loops()
    loops.visit_stmt(func.body)
    body = _Marker(loops.found, ctx).visit_stmt(func.body)
    if not ctx.option("tir.lwp_disable_func_prof", False):
        body = _marked(number, body)
    return func.with_body(body)


def _taken() -> int:
    number = _next_number[0]
    _next_number[0] += 1
    return number


def _marked(number: int, stmt: s.Stmt) -> s.Stmt:
    start = s.Evaluate(start_profile_intrinsic(number), stmt.span)
    end = s.Evaluate(end_profile_intrinsic(number), stmt.span)
    return s.SeqStmt.flatten([start, stmt, end])


@dataclass
class _Info:
    """Where a loop stands; `height` is how deep the loops within it are nested."""

    number: int
    depth: int
    siblings: bool
    in_parallel: bool
    height: int = 0


class _Loops(StmtExprVisitor):
    """Numbers the loops."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[s.For, _Info] = {}
        self._around: list[s.For] = []
        self._siblings = False

    def visit_expr(self, expr: object) -> None:
        pass

    def visit_seq_stmt_(self, op: s.SeqStmt) -> None:
        outer, tallest = self._siblings, 0
        several = sum(isinstance(one, s.For) for one in op.seq) > 1
        for stmt in op.seq:
            self._siblings = bool(self._around) and several and isinstance(stmt, s.For)
            self.visit_stmt(stmt)
            if self._around and isinstance(stmt, s.For):
                info = self.found[stmt]
                info.height = tallest = max(tallest, info.height)
        self._siblings = outer

    def visit_for_(self, op: s.For) -> None:
        behind = any(loop.kind == s.ForKind.PARALLEL for loop in self._around)
        self.found[op] = _Info(_taken(), len(self._around), self._siblings, behind)
        self._siblings = False
        for distance, loop in enumerate(reversed(self._around), 1):
            info = self.found[loop]
            info.height = max(info.height, distance)
        self._around.append(op)
        self.visit_stmt(op.body)
        self._around.pop()


class _Marker(StmtExprMutator):
    def __init__(self, loops: dict[s.For, _Info], ctx: PassContext) -> None:
        super().__init__()
        self._loops = loops
        self._depth = int(ctx.option("tir.lwp_max_depth", 0))
        self._height = int(ctx.option("tir.lwp_min_height", 1))
        self._siblings = bool(ctx.option("tir.instr_siblings", True))

    def visit_for_(self, op: s.For) -> s.Stmt:
        new = super().visit_for_(op)
        info = self._loops[op]
        if info.in_parallel or info.height < self._height:
            return new
        chosen = info.siblings if self._siblings else info.depth <= self._depth
        return _marked(info.number, new) if chosen else new
