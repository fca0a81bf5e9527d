"""Which operators of a dataflow graph run together: groups by pattern and post-dominance.

Nodes are numbered in order of evaluation. A node joins the group of its immediate post-dominator,
the first node through which all paths from it lead, if every node on those paths may stand in that
kernel (J. Roesch et al., Relay: A High-Level Compiler for Deep Learning, 2019, section 4.4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tvm.relax.op_pattern import OpPatternKind as Kind


class FusionNode:
    """A binding as fusion sees it."""

    __slots__ = ("escapes", "pattern", "readers")

    def __init__(self, pattern: Kind, escapes: bool) -> None:
        self.pattern = pattern
        self.escapes = escapes  # read outside of the block
        self.readers: list[tuple[int, Kind]] = []


class Dominators:
    """Immediate post-dominators, with the strongest pattern on the way there."""

    def __init__(self, nodes: list[FusionNode]) -> None:
        count = len(nodes)
        self.parent = [-1] * count
        self.pattern = [Kind.kOpaque] * count
        self._depth = [1] * count
        for i in range(count - 1, -1, -1):
            self._assign(i, nodes[i])

    def _assign(self, i: int, node: FusionNode) -> None:
        if node.escapes or not node.readers:
            return
        meet, strongest = node.readers[0]
        for reader, pattern in node.readers[1:]:
            strongest = max(strongest, pattern)
            meet, strongest = self._meet(meet, reader, strongest)
            if meet == -1:
                return
        self.parent[i], self.pattern[i] = meet, strongest
        self._depth[i] = self._depth[meet] + 1

    def _meet(self, a: int, b: int, strongest: Kind) -> tuple[int, Kind]:
        """The nearest node that dominates both, gathering patterns on the way."""
        while a != b:
            if a == -1 or b == -1:
                return -1, Kind.kOpaque
            if self._depth[a] >= self._depth[b] and (self._depth[a] > self._depth[b] or a < b):
                strongest = max(strongest, self.pattern[a])
                a = self.parent[a]
            else:
                strongest = max(strongest, self.pattern[b])
                b = self.parent[b]
        return a, strongest


def nodes_between(nodes: Sequence[FusionNode], start: int, sink: int) -> list[int]:
    """The nodes on paths from `start` to `sink`, with `sink`, without `start`."""
    found: list[int] = []
    seen = {start}
    stack = [reader for reader, _ in nodes[start].readers]
    while stack:
        i = stack.pop()
        if i in seen:
            continue
        seen.add(i)
        found.append(i)
        if i != sink:
            stack.extend(reader for reader, _ in nodes[i].readers)
    return found


Condition = Callable[[int, bool], bool]


class Groups:
    """Groups of nodes, by union of sets; the pattern of one is that of its strongest kernel."""

    def __init__(self, nodes: Sequence[FusionNode], max_depth: int) -> None:
        self.nodes = nodes
        self.max_depth = max_depth
        self.dominators = Dominators(list(nodes))
        self._above = list(range(len(nodes)))
        self.pattern = [int(node.pattern) for node in nodes]
        self.size = [1] * len(nodes)
        anchors = (Kind.kCommReduce, Kind.kOutEWiseFusable)
        self._anchor = [node.pattern in anchors for node in nodes]

    def find(self, i: int) -> int:
        """The node that stands for the group of `i`: the one that the group ends with."""
        while self._above[i] != i:
            self._above[i] = self._above[self._above[i]]
            i = self._above[i]
        return i

    def _join(self, child: int, parent: int) -> None:
        a, b = self.find(child), self.find(parent)
        if a == b:
            return
        self._above[a] = b
        self.size[b] += self.size[a]
        if self._anchor[a]:
            self._anchor[b] = True
            self.pattern[b] = max(self.pattern[a], self.pattern[b])

    def run(self) -> None:
        """Kernels with what follows them; then reshuffles of elements; then fields of tuples."""
        for phase in (0, 1, 2):
            for i, node in enumerate(self.nodes):
                end = self.dominators.parent[i]
                if end != -1 and node.pattern != Kind.kOpaque and self._room(i, end):
                    self._visit(i, end, phase)

    def _room(self, i: int, end: int) -> bool:
        """Whether the kernel would not grow past the greatest number of steps."""
        roots = {self.find(j) for j in (i, *nodes_between(self.nodes, i, end))}
        return sum(self.size[root] for root in roots) <= self.max_depth

    def _visit(self, i: int, end: int, phase: int) -> None:
        own = self.pattern[i]
        if phase == 2:
            if own > Kind.kInjective or self.pattern[self.find(end)] > Kind.kInjective:
                return
            if self.pattern[end] == Kind.kTuple:
                self._try(i, end, _map)
            return
        if self.find(i) == self.find(end) or self.pattern[end] == Kind.kTuple:
            return
        between = self.dominators.pattern[i]
        if own == Kind.kOutEWiseFusable:
            if phase == 0 and between == Kind.kElemWise:
                self._try(i, end, _broadcast)
        elif own <= Kind.kBroadcast:
            if between <= Kind.kInjective or between == Kind.kCommReduce:
                self._try(i, end, _into_kernel)
        elif own in (Kind.kInjective, Kind.kTuple) and phase == 1:
            self._try(i, end, _map)

    def _try(self, i: int, end: int, condition: Condition) -> None:
        way = nodes_between(self.nodes, i, end)
        if not all(condition(self.pattern[self.find(j)], j == end) for j in way):
            return
        for j in (i, *way):
            if j != end:
                self._join(j, end)


def _broadcast(kind: int, is_end: bool) -> bool:
    return kind <= Kind.kBroadcast


def _map(kind: int, is_end: bool) -> bool:
    return kind <= Kind.kInjective


def _into_kernel(kind: int, is_end: bool) -> bool:
    """Maps beside the path may move too; it may end in a kernel that has taken one before."""
    kernels = (Kind.kCommReduce, Kind.kOutEWiseFusable)
    return kind <= Kind.kInjective or (is_end and kind in kernels)


def find_groups(nodes: Sequence[FusionNode], level: int, max_depth: int) -> list[list[int]]:
    """The nodes partitioned into groups, each in order of evaluation."""
    groups = Groups(nodes, max_depth)
    if level >= 1:
        groups.run()
    members: dict[int, list[int]] = {}
    for i in range(len(nodes)):
        members.setdefault(groups.find(i), []).append(i)
    return list(members.values())
