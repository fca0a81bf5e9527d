"""Copies that exchange the dimension along memory, of any size: squares, and what is left of them.

    for j, i: B[j, i] = A[i, j]   ->   for j in J // 16 * 16, i in I // 16 * 16: ...   # squares
                                       for j in J // 16 * 16 ... J, i in I: ...
                                       for j in J // 16 * 16, i in I // 16 * 16 ... I: ...

Each part is a function that is scheduled by itself. Lanes that come from an address each are ten
times slower than squares turned in registers (3136 x 256 of 32 bits, AVX2: 5.8 and 0.5 ms).
"""

from __future__ import annotations

from tvm.arith import Analyzer
from tvm.dlight.base import open_schedule
from tvm.ir.expr import PrimExpr, Range
from tvm.target.cpu_model import CpuModel
from tvm.target.target import Target
from tvm.tir.expr import IntImm, IterVar, Var
from tvm.tir.function import PrimFunc
from tvm.tir.functor import statements, substitute
from tvm.tir.op.arith import floordiv
from tvm.tir.renew_defs import DefRenewer
from tvm.tir.schedule import Schedule
from tvm.tir.schedule.rebuild import change_block
from tvm.tir.schedule.regions import with_regions
from tvm.tir.schedule.scopes import TRUE
from tvm.tir.stmt import Block, BlockRealize, For, ForKind, SeqStmt, Stmt

from .access import size_of
from .any_size import opaque
from .base import REASON, CPUScheduleRule, with_reason
from .fallback import Fallback
from .transpose import square_of, turned_by


class TurnedParts(CPUScheduleRule):
    """Schedules copies whose sizes squares may not divide."""

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule, or None for other functions, and for those that are squares alone."""
        parts = _parts(func, target.cpu)
        if not parts:
            return None
        bodies: list[Stmt] = []
        reasons: list[str] = []
        for part in parts:
            made = Fallback().apply(part, target, False)
            if made is None:
                return None
            one = made.mod["main"]
            assert isinstance(one, PrimFunc), "rules schedule TIR functions"
            assert isinstance(one.body, BlockRealize), "schedules keep the root"
            root = one.body.block
            bodies.append(opaque(root.name_hint, root.body, list(root.alloc_buffers), [], []))
            reasons.append(str(one.attrs[REASON]))
        whole = Block([], [], [], "root", SeqStmt(bodies))
        sch = open_schedule(func.with_body(BlockRealize([], TRUE, whole)))
        return with_reason(sch, f"{reasons[0]}; at the edges {', '.join(reasons[1:])}")


def _parts(func: PrimFunc, cpu: CpuModel) -> list[PrimFunc]:
    """The squares, and the two edges; nothing where the function is no such copy."""
    if not isinstance(func.body, BlockRealize):
        return []
    blocks = list(statements(func.body.block.body, Block))
    if len(blocks) != 1 or func.body.block.alloc_buffers:
        return []
    found = turned_by(blocks[0], cpu)
    if found is None or square_of(blocks[0], cpu) is not None:
        return []
    size, across, along = found
    sizes = {iv.var: size_of(iv) for iv in blocks[0].iter_vars}
    whole = {var: floordiv(sizes[var], size) * size for var in (across, along)}
    zero: dict[Var, PrimExpr] = {var: IntImm(var.dtype, 0) for var in (across, along)}
    if any(isinstance(n, IntImm) and n.value < size for n in (sizes[across], sizes[along])):
        return []
    left = {var: Analyzer().simplify(sizes[var] - whole[var]) for var in (across, along)}
    made: list[tuple[dict[Var, PrimExpr], dict[Var, PrimExpr]]] = [
        (zero, {**sizes, **whole}),
        ({across: whole[across]}, {**sizes, across: left[across]}),
        ({along: whole[along]}, {**sizes, **whole, along: left[along]}),
    ]
    return [
        _part(func, blocks[0], starts, extents)
        for starts, extents in made
        if not any(isinstance(extent, IntImm) and extent.value == 0 for extent in extents.values())
    ]


def _part(
    func: PrimFunc, block: Block, starts: dict[Var, PrimExpr], sizes: dict[Var, PrimExpr]
) -> PrimFunc:
    """The function that copies so many elements from where the starts are."""
    moved = {var: var + start for var, start in starts.items()}
    ivs = [IterVar(Range(IntImm(iv.var.dtype, 0), sizes[iv.var]), iv.var, iv.iter_type)
           for iv in block.iter_vars]  # fmt: skip
    inner = with_regions(change_block(block, body=substitute(block.body, moved), iter_vars=ivs))
    loops = [Var(iv.var.name, iv.var.dtype) for iv in ivs]
    body: Stmt = BlockRealize(loops, TRUE, inner)
    for loop, iv in zip(reversed(loops), reversed(ivs)):
        body = For(loop, 0, sizes[iv.var], ForKind.SERIAL, body)
    root = Block([], [], [], "root", body)
    return func.with_body(DefRenewer().visit_stmt(BlockRealize([], TRUE, root)))
