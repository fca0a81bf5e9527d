"""Blocks that unpack weights of a few bits, told by what they compute."""

from __future__ import annotations

from tvm.ir.node import Node
from tvm.tir.expr import BufferLoad, Cast, IterVar
from tvm.tir.functor import children
from tvm.tir.stmt import Block, BufferStore


def is_dequantization(block: Block) -> bool:
    """True if floats are stored that were made of integers in memory: (words[i] & 15) * scale[i].

    An integer that only says where to read, as in a lookup, is none.
    """
    body = block.body
    if not isinstance(body, BufferStore) or not body.value.dtype.is_floating:
        return False
    if any(iv.iter_type != IterVar.DataPar for iv in block.iter_vars):
        return False
    stack: list[tuple[Node, bool]] = [(body.value, False)]
    while stack:
        node, converted = stack.pop()
        if isinstance(node, BufferLoad):
            if converted and not node.dtype.is_floating:
                return True
        elif isinstance(node, Cast):
            stack.append((node.value, converted or node.dtype.is_floating))
        else:
            stack.extend((child, converted) for child in children(node))
    return False
