"""The expressions of a function by number, who uses them, and what follows from them.

Numbers go by post-order, as `CapturePostDfsIndexInSpans` writes them: what a node reads has a
smaller one. Sets of nodes are ints, one bit a node.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tvm.ir.expr import RelaxExpr
from tvm.ir.op import Op
from tvm.relay.expr import Call, Constant, If, Let
from tvm.relay.function import Function
from tvm.relay.transform.capture_post_dfs_index import parts_by_index
from tvm.relay.traverse import children, post_order

OPAQUE: Final = 8
# What may be joined with what: elementwise, by broadcast, injective, reductions, convolutions.
BROADCAST: Final = 1
INJECTIVE: Final = 2
REDUCE: Final = 3
OUT_ELEMENTWISE: Final = 4


def members(nodes: int) -> Iterator[int]:
    """The numbers in a set, from the least on."""
    while nodes:
        low = nodes & -nodes
        yield low.bit_length() - 1
        nodes ^= low


class DataflowGraph:
    """A function as a graph of values."""

    def __init__(self, func: RelaxExpr) -> None:
        self.root: Final = func
        self.nodes: Final = list(post_order(func, parts_of=parts_by_index))
        self.index: Final = {id(node): at for at, node in enumerate(self.nodes)}
        size = len(self.nodes)
        self.inputs: Final = [[self.index[id(p)] for p in children(node)] for node in self.nodes]
        for node in self.nodes:
            if isinstance(node, Let):  # a variable has its value
                self.inputs[self.index[id(node.var)]].append(self.index[id(node.value)])
        self.users: Final = [0] * size
        for at, read in enumerate(self.inputs):
            for one in read:
                self.users[one] |= 1 << at
        self.below: Final = [0] * size  # all that a value goes into, by however many steps
        for at in range(size - 1, -1, -1):
            for user in members(self.users[at]):
                self.below[at] |= 1 << user | self.below[user]
        self.scope: Final = self._scopes()

    def _scopes(self) -> list[int]:
        """For each node the function or branch whose evaluation makes it; -1 where nothing does."""
        scope = [-1] * len(self.nodes)
        for at in range(len(self.nodes) - 1, -1, -1):
            node = self.nodes[at]
            if isinstance(node, Function):
                outer = dict.fromkeys(self.inputs[at], at)
            elif isinstance(node, If):
                cond, *branches = self.inputs[at]
                outer = {cond: scope[at], **{branch: branch for branch in branches}}
            else:
                outer = dict.fromkeys(self.inputs[at], scope[at])
            for part, where in outer.items():
                # Shared by two scopes: made before both, that is in the outer one (smaller reach).
                scope[part] = where if scope[part] < 0 else max(scope[part], where)
        return scope

    def kind(self, at: int) -> int:
        """How an operator's call may be fused; opaque for all else."""
        node = self.nodes[at]
        if not (isinstance(node, Call) and isinstance(node.op, Op)):
            return OPAQUE
        known = node.op.get_attr("TOpPattern")
        return OPAQUE if known is None else int(known)

    def is_call(self, at: int) -> bool:
        """Whether a node calls an operator: what somebody has to compute."""
        node = self.nodes[at]
        return isinstance(node, Call) and isinstance(node.op, Op)

    def stays_inside(self, at: int) -> bool:
        """Whether a part takes a value along that it reads: operators and numbers."""
        node = self.nodes[at]
        return isinstance(node, Op) or (isinstance(node, Constant) and not node.data.shape)
