"""A convolution of which the sizes of the call choose the form: Winograd's, or the direct sum.

    W = stages of Winograd's convolution;  D = direct sum
    for ...: B = epilogue(W if condition else D)
    ->  if condition: what `Winograd` makes of it, without D
        else: what `Conv2D` makes of it, without W
"""

from __future__ import annotations

from tvm.dlight.base import open_schedule
from tvm.ir.expr import PrimExpr
from tvm.target.target import Target
from tvm.tir.buffer import Buffer
from tvm.tir.expr import Call
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, statements
from tvm.tir.renew_defs import DefRenewer
from tvm.tir.schedule import Schedule
from tvm.tir.schedule.rebuild import change_block
from tvm.tir.schedule.regions import with_regions
from tvm.tir.schedule.scopes import TRUE
from tvm.tir.stmt import Block, BlockRealize, BufferStore, IfThenElse, SeqStmt, Stmt
from tvm.tir.winograd import KEY

from .any_size import opaque
from .base import REASON, CPUScheduleRule, with_reason
from .conv2d import Conv2D
from .planes import is_choice
from .weights import without_packing
from .winograd import Winograd


class WinogradOrDirect(CPUScheduleRule):
    """Schedules functions with both forms of one convolution."""

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule, or None for other functions."""
        choice = _choice(func)
        if choice is None:
            return None
        forms = [_form(func, choice, number) for number in (1, 2)]
        bodies: list[Stmt] = []
        reasons: list[str] = []
        packing: list[Stmt] = []
        for rule, form in zip((Winograd(), Conv2D()), forms):
            made = rule.apply(form, target, False)
            if not isinstance(made, Schedule):
                return None
            one = made.mod["main"]
            assert isinstance(one, PrimFunc), "rules schedule TIR functions"
            assert isinstance(one.body, BlockRealize), "schedules keep the root"
            block, packed = without_packing(one.body.block)
            packing += packed
            bodies.append(opaque(block.name_hint, block.body, list(block.alloc_buffers), [], []))
            reasons.append(str(one.attrs[REASON]))
        tiled, direct = bodies
        chosen = IfThenElse(_parts(choice)[0], tiled, direct)
        packed_into = [region.buffer for stmt in packing for block in statements(stmt, Block)
                       for region in block.writes]  # fmt: skip
        body = SeqStmt.flatten([*packing, chosen])
        root = Block([], [], [], "root", body, None, packed_into)
        sch = open_schedule(func.with_body(BlockRealize([], TRUE, root)))
        return with_reason(sch, f"{reasons[0]}; for few tiles: {reasons[1]}")


def _choice(func: PrimFunc) -> Block | None:
    """The block that takes one of two results."""
    for node in statements(func.body, Block):
        if str(node.annotations.get(KEY) or "") == "choice":
            return node
    return None


def _parts(choice: Block) -> tuple[PrimExpr, ...]:
    """The condition, and the two values."""
    assert isinstance(choice.body, BufferStore), "a choice is one store"
    value = choice.body.value
    assert is_choice(value), "of one of two values"
    assert isinstance(value, Call), "looked at above"
    return value.args


def _form(func: PrimFunc, choice: Block, number: int) -> PrimFunc:
    """The function with one of the two results, and what that is made of."""
    realize = func.body
    assert isinstance(realize, BlockRealize), "a function of blocks"
    root = realize.block
    store = choice.body
    assert isinstance(store, BufferStore), "a choice is one store"
    taken = BufferStore(store.buffer, _parts(choice)[number], store.indices, None, store.span)
    body = root.body.seq if isinstance(root.body, SeqStmt) else (root.body,)
    wanted: set[Buffer] = set(func.buffer_map.values())
    kept: list[Stmt] = []
    for stmt in reversed(body):
        new = _Taken(choice, taken).visit_stmt(stmt)
        blocks = list(statements(new, Block))
        if any(region.buffer in wanted for block in blocks for region in block.writes):
            wanted |= {region.buffer for block in blocks for region in block.reads}
            kept.append(new)
    buffers = [buffer for buffer in root.alloc_buffers if buffer in wanted]
    new_root = change_block(root, body=SeqStmt.flatten(kept[::-1]), alloc_buffers=buffers)
    apart = DefRenewer().visit_stmt(BlockRealize([], realize.predicate, new_root))
    return func.with_body(apart)


class _Taken(StmtExprMutator):
    """Replaces the choice by one store."""

    def __init__(self, choice: Block, taken: BufferStore) -> None:
        super().__init__()
        self._choice, self._taken = choice, taken

    def visit_block_(self, op: Block) -> Stmt:
        if op is not self._choice:
            return super().visit_block_(op)
        return with_regions(change_block(op, body=self._taken, annotations={}))
