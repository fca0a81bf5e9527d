"""Which operators of a dataflow graph run together: groups by pattern and post-dominance.

Nodes are numbered in order of evaluation. The immediate post-dominator of a node is the first node
through which every path from it leads; a value may move into that node's kernel when all kernels on
those paths agree to compute it element by element.
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


class _Groups:
    """Disjoint sets of nodes; each knows its pattern and whether it has an anchor kernel."""

    def __init__(self, nodes: list[FusionNode]) -> None:
        self._root = list(range(len(nodes)))
        self.pattern = [node.pattern for node in nodes]
        self.size = [1] * len(nodes)
        self.anchored = [node.pattern == Kind.kOutEWiseFusable for node in nodes]

    def find(self, i: int) -> int:
        while self._root[i] != i:
            self._root[i] = self._root[self._root[i]]
            i = self._root[i]
        return i

    def join(self, child: int, parent: int) -> None:
        a, b = self.find(child), self.find(parent)
        if a == b:
            return
        self._root[a] = b
        self.size[b] += self.size[a]
        if self.pattern[a] == Kind.kOutEWiseFusable:
            self.anchored[b] = True
        self.anchored[b] = self.anchored[b] or self.anchored[a]
        self.pattern[b] = _combined(self.pattern[a], self.pattern[b])


def _combined(a: Kind, b: Kind) -> Kind:
    """The pattern of a group; an anchor or a reduction makes the whole group one."""
    return max(a, b)


Condition = Callable[[Kind, bool], bool]


def _elementwise_way(kind: Kind, is_end: bool) -> bool:
    """After an anchor kernel: only what maps each output element on its own."""
    return kind <= Kind.kBroadcast


def _broadcast_way(kind: Kind, is_end: bool) -> bool:
    """From cheap maps: any map on the way, and at the end also a reduction or an anchor."""
    if not is_end:
        return kind <= Kind.kInjective
    return kind <= Kind.kInjective or kind in (Kind.kCommReduce, Kind.kOutEWiseFusable)


def _injective_way(kind: Kind, is_end: bool) -> bool:
    """From a reshuffle of elements: only other maps."""
    return kind <= Kind.kInjective


class _Fuser:
    def __init__(self, nodes: list[FusionNode], max_depth: int) -> None:
        self.nodes = nodes
        self.max_depth = max_depth
        self.dominators = Dominators(nodes)
        self.groups = _Groups(nodes)

    def run(self, phase: int) -> None:
        """Phase 0 joins maps to anchors and maps; phase 1 adds reshuffles; phase 2 tuples."""
        for i, node in enumerate(self.nodes):
            sink = self.dominators.parent[i]
            if sink == -1 or node.pattern in (Kind.kOpaque, Kind.kTuple):
                continue
            if self.groups.find(i) == self.groups.find(sink):
                continue
            if phase == 2:
                self._into_tuple(i, sink)
            elif self.nodes[sink].pattern != Kind.kTuple:
                self._into_kernel(i, sink, phase)

    def _into_kernel(self, i: int, sink: int, phase: int) -> None:
        own = self.groups.pattern[self.groups.find(i)]
        target = self.groups.pattern[self.groups.find(sink)]
        way = self.dominators.pattern[i]
        if own == Kind.kOutEWiseFusable:
            if phase == 0 and way <= Kind.kBroadcast:
                self._try(i, sink, _elementwise_way)
        elif own <= Kind.kBroadcast:
            if target <= Kind.kInjective or target == Kind.kCommReduce:
                self._try(i, sink, _broadcast_way)
        elif own == Kind.kInjective and phase == 1:
            self._try(i, sink, _injective_way)

    def _into_tuple(self, i: int, sink: int) -> None:
        """A map whose result only goes into a tuple joins the map that reads the tuple."""
        own = self.groups.pattern[self.groups.find(i)]
        if own > Kind.kInjective or self.nodes[sink].pattern > Kind.kInjective:
            return
        self._try(i, sink, _injective_way)

    def _try(self, i: int, sink: int, condition: Condition) -> None:
        way = nodes_between(self.nodes, i, sink)
        for j in way:
            root = self.groups.find(j)
            if not condition(self.groups.pattern[root], j == sink):
                return
        total = self.groups.size[self.groups.find(i)]
        roots = {self.groups.find(j) for j in way}
        total += sum(self.groups.size[root] for root in roots)
        if total > self.max_depth or self._second_anchor(i, roots):
            return
        for j in way:
            if j != sink:
                self.groups.join(j, sink)
        self.groups.join(i, sink)

    def _second_anchor(self, i: int, roots: set[int]) -> bool:
        """Two anchor kernels never share a group."""
        members = {self.groups.find(i), *roots}
        return sum(self.groups.anchored[root] for root in members) > 1


def find_groups(nodes: list[FusionNode], level: int, max_depth: int) -> list[list[int]]:
    """The nodes partitioned into groups, each in order of evaluation."""
    fuser = _Fuser(nodes, max_depth)
    if level >= 1:
        for phase in (0, 1, 2):
            fuser.run(phase)
    members: dict[int, list[int]] = {}
    for i in range(len(nodes)):
        members.setdefault(fuser.groups.find(i), []).append(i)
    return list(members.values())
