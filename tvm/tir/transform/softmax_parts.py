"""What softmax is made of: maxima of rows, and exponentials of what lies below them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tvm.ir.expr import PrimExpr
from tvm.ir.structural import structural_equal
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.functor import walk
from tvm.tir.op.arith import is_one


class Made(NamedTuple):
    """The only block that writes a buffer, and its only statement."""

    block: s.Block
    store: s.BufferStore


def made_once(body: s.Stmt) -> dict[Buffer, Made]:
    """Buffers that one block alone writes, by one statement."""
    found: dict[Buffer, Made] = {}
    writers: Counter[Buffer] = Counter()
    pointers: set[e.Var] = set()
    for node in walk(body):
        if isinstance(node, s.BufferStore):
            writers[node.buffer] += 1
        elif isinstance(node, e.Var):
            pointers.add(node)  # memory that is handed on is written by whoever has it
        elif isinstance(node, s.BlockRealize) and is_one(node.predicate):
            block = node.block
            if isinstance(block.body, s.BufferStore):
                found[block.body.buffer] = Made(block, block.body)
    return {
        buffer: made for buffer, made in found.items()
        if buffer.data not in pointers and writers[buffer] == 1 + (made.block.init is not None)
    }  # fmt: skip


class Below(NamedTuple):
    """An element, and which of its axes its maximum keeps."""

    x: e.BufferLoad
    kept: tuple[int, ...]


def below_maximum(block: s.Block, power: PrimExpr, made: dict[Buffer, Made]) -> Below | None:
    """What is raised in exp(x - m) within a block, where m is the maximum of the same x."""
    if not e.is_call_of(power, "tir.exp"):
        return None
    difference = power.args[0]
    if not isinstance(difference, e.Sub):
        return None
    x, top = difference.a, difference.b
    if not isinstance(x, e.BufferLoad) or not isinstance(top, e.BufferLoad):
        return None
    compared = made.get(top.buffer)
    largest = compared.store.value if compared is not None else None
    if compared is None or not isinstance(largest, e.Max):
        return None
    before, same = largest.a, largest.b
    if not isinstance(before, e.BufferLoad) or not isinstance(same, e.BufferLoad):
        return None
    if before.buffer is not top.buffer or x.buffer is not same.buffer:
        return None
    domain = domains_of(compared.block, same.indices)
    if domain is None or not structural_equal(domain, domains_of(block, x.indices)):
        return None
    kept = kept_axes(compared.store.indices, same.indices)
    rows = [kept_axes(before.indices, same.indices), kept_axes(top.indices, x.indices)]
    return None if kept is None or any(row != kept for row in rows) else Below(x, kept)


def domains_of(block: s.Block, indices: Sequence[PrimExpr]) -> list[object] | None:
    """What indices run over; None where one is no variable of the block, or two are the same."""
    known = {each.var: each.dom for each in block.iter_vars}
    found = [known.get(index) if isinstance(index, e.Var) else None for index in indices]
    if None in found or len(set(indices)) < len(indices):
        return None
    return list(found)


def kept_axes(few: Sequence[PrimExpr], all_of: Sequence[PrimExpr]) -> tuple[int, ...] | None:
    """Which of all indices the few are; None if one is none of them."""
    positions = [next((n for n, other in enumerate(all_of) if other is one), -1) for one in few]
    return None if -1 in positions else tuple(positions)
