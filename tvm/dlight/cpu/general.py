"""Schedules for any block, elementwise or reduction, and for those that no other rule took."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Final

from tvm.arith import Analyzer
from tvm.dlight.analysis.contraction import find_contraction
from tvm.ir.expr import PrimExpr
from tvm.ir.structural import structural_hash
from tvm.target.cpu_model import CpuModel
from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import BufferLoad, IntImm, IterVar
from tvm.tir.functor import walk
from tvm.tir.schedule import BlockRV, Schedule, ScheduleError
from tvm.tir.stmt import Block, BufferStore

from .access import extent, size_of
from .base import Decompositions, decompose, root_blocks
from .elementwise import schedule_elementwise
from .planes import is_choice
from .reduction import schedule_reduction
from .window import schedule_window


class Unscheduled:
    """The blocks of a function that no rule has scheduled yet."""

    def __init__(self, sch: Schedule) -> None:
        self._sch = sch
        self._done: set[StmtSRef] = set()
        self.pending: Decompositions = []

    def done(self, block: BlockRV) -> None:
        """This block, and all that stand under its outermost loop by now, are scheduled."""
        loops = self._sch.get_loops(block)
        inner = self._sch.get_child_blocks(loops[0]) if loops else [block]
        self._done.update([self._sch.get_sref(b) for b in inner])

    def schedule(self, cpu: CpuModel) -> list[str]:
        """Schedule all others, each by its kind; returns the reasons."""
        reasons: list[str] = []
        for block in root_blocks(self._sch):
            sref = self._sch.get_sref(block)
            if sref not in self._done:
                reasons.append(self._attempt(block, cpu))
                if sref.stmt is not None:  # else an intrinsic has replaced the block
                    self.done(block)
        decompose(self._sch, self.pending)
        return reasons

    def schedule_windows(self, cpu: CpuModel) -> list[str]:
        """Schedule the blocks whose windows slide over planes, with the padding that they read."""
        reasons: list[str] = []
        for block in root_blocks(self._sch):
            sref = self._sch.get_sref(block)
            if sref.stmt is None or sref in self._done or self._sch.get(block).init is None:
                continue
            found = schedule_window(self._sch, block, cpu, self.pending)
            if found is not None:
                reasons.append(found)
                self.done(block)
        return reasons

    def _attempt(self, block: BlockRV, cpu: CpuModel) -> str:
        name = self._sch.get(block).name_hint
        try:
            return schedule_block(self._sch, block, cpu, self.pending)
        except ScheduleError as err:
            # what was done up to here is legal, and so is leaving the others undone
            return _refusal(name, err)


def _refusal(name: str, err: ScheduleError) -> str:
    return f"{name}: {str(err).splitlines()[0].partition(': ')[2]}"


def schedule_block(
    sch: Schedule, block: BlockRV, cpu: CpuModel, pending: Decompositions
) -> str:
    """Schedule one block in loops of its own; returns a sentence of reason."""
    node: Block = sch.get(block)
    if any(iv.iter_type == IterVar.CommReduce for iv in node.iter_vars):
        return schedule_reduction(sch, block, cpu, pending)
    if all(iv.iter_type == IterVar.DataPar for iv in node.iter_vars):
        return schedule_elementwise(sch, block, cpu)
    return f"{node.name_hint}: has an order of its own, left as it is"


# More operations than this, for all reads of an inlined value together, and the value is stored.
MAX_INLINED: Final = 500
# The same where the value is an index: each pass asks what indices are, and parts of one are asked
# again with every index around them.
MAX_INLINED_IN_INDICES: Final = 60


def _grows(producer: Block, users: Sequence[Block]) -> bool:
    """Whether inlining the producer at each of its reads would make too much of it."""
    assert isinstance(producer.body, BufferStore), "looked at by the caller"
    buffer = producer.body.buffer
    loads = [n for user in users for n in walk(user.body) if isinstance(n, BufferLoad)]
    reads = sum(n.buffer is buffer for n in loads)
    if reads < 2:
        return False
    is_index = any(
        isinstance(part, BufferLoad) and part.buffer is buffer
        for n in loads for index in n.indices for part in walk(index)
    )  # fmt: skip
    size = sum(1 for _ in walk(producer.body.value))
    return reads * size > (MAX_INLINED_IN_INDICES if is_index else MAX_INLINED)


def _gathers_again(producer: Block, user: Block) -> bool:
    """Whether the user would gather several times what the producer gathers itself."""
    assert isinstance(producer.body, BufferStore), "looked at by the caller"
    buffer = producer.body.buffer
    accesses = {
        tuple(map(structural_hash, n.indices))
        for n in walk(user.body) if isinstance(n, BufferLoad) and n.buffer is buffer
    }  # fmt: skip
    return len(accesses) > 1 and any(
        isinstance(part, BufferLoad)
        for n in walk(producer.body.value) if isinstance(n, BufferLoad)
        for index in n.indices
        for part in walk(index)
    )  # fmt: skip


def _pads_planes(node: Block) -> bool:
    """Whether a block pads planes of symbolic size."""
    assert isinstance(node.body, BufferStore), "looked at by the caller"
    value = node.body.value
    return is_choice(value) and any(extent(iv) is None for iv in node.iter_vars[-2:])


def inline_epilogues(sch: Schedule, among: Sequence[BlockRV] | None = None) -> None:
    """Inline spatial blocks (all, or those given) into their consumers.

    What a contraction reads stays: it is read many times, and computing it once is cheaper. Copies
    that only remap indices (transposes, reshapes) are inlined there too.
    """
    gone: set[StmtSRef] = set()
    blocks = root_blocks(sch) if among is None else among
    for block, sref in [(block, sch.get_sref(block)) for block in blocks]:
        while sref not in gone and _inlined(sch, block, gone):
            pass


def _inlined(sch: Schedule, block: BlockRV, gone: set[StmtSRef]) -> bool:
    """Inline a block where that is wanted; True if it replaced its user, and has new consumers."""
    node: Block = sch.get(block)
    if node.init is not None or not isinstance(node.body, BufferStore):
        return False
    users = sch.get_consumers(block)
    renames = isinstance(node.body.value, BufferLoad)
    feeds = any(find_contraction(sch.get(u)) is not None for u in users)
    if not users or (feeds and not renames):
        return False
    reduces = any(sch.get(u).init is not None for u in users)
    if reduces and _pads_planes(node):
        return False  # windows of any size read a copy that has room for whole tiles
    if reduces and len(users) > 1 and not renames:
        return False
    readers: list[Block] = [sch.get(user) for user in users]
    if _grows(node, readers) or any(_gathers_again(node, reader) for reader in readers):
        return False
    user = sch.get_sref(users[0])
    if not renames and len(users) == 1 and _stores_elsewhere(sch, users[0]):
        gone.add(user)
        return True
    with contextlib.suppress(ScheduleError):  # an output, or read in a way that needs the buffer
        sch.compute_inline(block)
    return False


def _stores_elsewhere(sch: Schedule, user: BlockRV) -> bool:
    """True if the user only remaps indices (a last reshape), and its producer now does that."""
    node: Block = sch.get(user)
    if not isinstance(node.body, BufferStore) or not isinstance(node.body.value, BufferLoad):
        return False
    if not _reads_all(sch, user):
        return False  # the producer would run for what nobody stores
    try:
        sch.reverse_compute_inline(user)
    except ScheduleError:
        return False
    return True


def _reads_all(sch: Schedule, user: BlockRV) -> bool:
    """Whether a block reads as many elements as each of its producers makes."""

    def count(block: BlockRV) -> PrimExpr:
        total: PrimExpr = IntImm("int64", 1)
        for iv in sch.get(block).iter_vars:
            total = total * size_of(iv)
        return total

    wanted, analyzer = count(user), Analyzer()
    return all(analyzer.can_prove_equal(count(p), wanted) for p in sch.get_producers(user))
