"""Two forms of one kernel, of which the generated code takes the one for the sizes of the call.

    if 27 * ceildiv(n, 16) < 82 * ceildiv(n, 64):     # modelled time of both, in whole numbers
        the form made for few columns
    else:
        that for many

Where a size is known only when the program runs, no single tile is good: a wide one computes mostly
in vain for a small plane, a narrow one loads too often for a large plane.
"""

from __future__ import annotations

from typing import Final

from tvm.arith import Analyzer
from tvm.dlight.base import open_schedule
from tvm.ir.expr import PrimExpr
from tvm.target.cpu_model import CpuModel
from tvm.tir.expr import make_const
from tvm.tir.function import PrimFunc
from tvm.tir.functor import walk
from tvm.tir.op.arith import ceildiv, less
from tvm.tir.renew_defs import DefRenewer
from tvm.tir.schedule import Schedule
from tvm.tir.stmt import Block, BlockRealize, IfThenElse

from .base import REASON, with_reason
from .tiles import Tile, tile_cost
from .weights import PREPACK

UNIT: Final = 64  # of modelled time, which generated code compares as whole numbers


def faster_for(cpu: CpuModel, columns: PrimExpr, first: Tile, second: Tile) -> PrimExpr:
    """Whether so many columns take less time in tiles of the first kind than of the second."""

    def time(tile: Tile) -> PrimExpr:
        each = round(UNIT * tile_cost(cpu, tile) * tile.columns)
        count = ceildiv(columns, make_const(tile.columns, columns.dtype))
        return count * make_const(each, columns.dtype)

    return Analyzer().simplify(less(time(first), time(second)))


def joined(condition: PrimExpr, first: Schedule, second: Schedule) -> Schedule:
    """The first form under a condition on the sizes of the call, else the second.

    Only the second, where a form packs weights beforehand: they are packed for one of them.
    """
    one, other = (_function(sch) for sch in (first, second))
    if packs(one) or packs(other):
        return second
    body = IfThenElse(condition, DefRenewer().visit_stmt(one.body), other.body)
    root = BlockRealize([], make_const(1, condition.dtype), Block([], [], [], "root", body))
    reason = f"{other.attrs[REASON]}; where that is faster {one.attrs[REASON]}"
    return with_reason(open_schedule(other.with_body(root)), reason)


def _function(sch: Schedule) -> PrimFunc:
    func = sch.mod["main"]
    assert isinstance(func, PrimFunc), "rules schedule TIR functions"
    return func


def packs(func: PrimFunc) -> bool:
    """Whether a form of a kernel packs weights beforehand."""
    return any(isinstance(node, Block) and PREPACK in node.annotations for node in walk(func.body))
