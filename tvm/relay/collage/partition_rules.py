"""Which parts of a graph a compiler may take as one kernel.

TVM takes operators that `FuseOps` would fuse, with tuples between them. Others take what their
patterns match, alone or with what touches it: any of it (`ArbitraryFusion`), what TVM would fuse
(`TVMFusion`), or nothing (`NoFusion`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, Final

from tvm.ffi.object import Object
from tvm.relay.dataflow_pattern import DFPattern, match_inside
from tvm.relay.expr import Tuple, TupleGetItem

from .dataflow_graph import (
    BROADCAST,
    INJECTIVE,
    OUT_ELEMENTWISE,
    REDUCE,
    DataflowGraph,
    members,
)
from .sub_graph import Limits, SubGraph, depth, exits

Joins = Callable[[int, int], bool]  # kinds of what comes first and of what reads it
FUSION_STYLES: Final = ("NoFusion", "TVMFusion", "ArbitraryFusion")


class LabelledDFPatternPartitionRule(Object):
    """A pattern, what its matches are called, and a check of each."""

    def __init__(
        self, compiler: str, label: str, pattern: DFPattern,
        check: Callable[[Any], bool] = lambda _: True,
    ) -> None:  # fmt: skip
        self.compiler: Final = compiler
        self.label: Final = label
        self.pattern: Final = pattern
        self.check: Final = check

    def parts(self, graph: DataflowGraph) -> list[SubGraph]:
        """What the pattern matches, each a composite function inside of its part."""
        found = []
        for node in graph.nodes:
            inside = match_inside(self.pattern, node)
            if inside is None or not self.check(node):
                continue
            nodes = sum(1 << graph.index[one] for one in inside)
            kind = max((graph.kind(one) for one in members(nodes) if graph.is_call(one)), default=0)
            found.append(SubGraph(nodes, kind, ((self.label, nodes),)))
        return found


class PatternBYOCPartitionRule(Object):
    """The patterns of an outside compiler."""

    def __init__(self, compiler: str, sub_rules: Sequence[LabelledDFPatternPartitionRule]) -> None:
        self.compiler: Final = compiler
        self.sub_rules: Final = list(sub_rules)

    def parts(self, graph: DataflowGraph, style: str, max_depth: int) -> list[SubGraph]:
        """What the compiler may take."""
        found = [part for rule in self.sub_rules for part in rule.parts(graph)]
        limits = Limits(1, False, max_depth)
        joins = {"NoFusion": _never, "TVMFusion": _as_tvm, "ArbitraryFusion": _always}[style]
        return [p for p in _joined(graph, found, joins, max_depth) if limits.hold(graph, p.nodes)]


def tvm_parts(graph: DataflowGraph, max_depth: int) -> list[SubGraph]:
    """What TVM may take."""
    found = [
        SubGraph(1 << at, graph.kind(at)) for at in range(len(graph.nodes))
        if graph.is_call(at) and graph.kind(at) <= OUT_ELEMENTWISE
    ]  # fmt: skip
    limits = Limits(1, False, max_depth)
    joined = _joined(graph, found, _as_tvm, max_depth, with_tuples=True)
    return [part for part in joined if limits.hold(graph, part.nodes)]


def _never(first: int, second: int) -> bool:
    return False


def _always(first: int, second: int) -> bool:
    return True


def _as_tvm(first: int, second: int) -> bool:
    """Elementwise behind anything, reductions behind elementwise, injective behind its like."""
    return (
        (first <= OUT_ELEMENTWISE and second <= BROADCAST)
        or (first <= BROADCAST and second <= REDUCE)
        or (first <= INJECTIVE and second <= INJECTIVE)
    )  # fmt: skip


class _Pool:
    """Parts by the nodes that they begin with, each once. Composites by other ways are others."""

    def __init__(self) -> None:
        self.parts: list[SubGraph] = []
        self.starting: dict[int, list[SubGraph]] = {}
        self.ending: dict[int, list[SubGraph]] = {}
        self._known: set[tuple[int, frozenset[tuple[str, int]]]] = set()

    def add(self, graph: DataflowGraph, part: SubGraph) -> bool:
        key = (part.nodes, frozenset(part.nested))
        if key in self._known:
            return False
        self._known.add(key)
        self.parts.append(part)
        self.starting.setdefault(next(members(part.nodes)), []).append(part)
        out = exits(graph, part.nodes)
        if len(out) == 1:
            self.ending.setdefault(out[0], []).append(part)
        return True


def _joined(
    graph: DataflowGraph, singles: Iterable[SubGraph], joins: Joins, max_depth: int,
    with_tuples: bool = False,
) -> list[SubGraph]:  # fmt: skip
    """The parts and all that come of joining two that touch, as deep as allowed.

    In each round what the last one made is joined with what reads it, among all there is. Parts
    on the way may have many results: a later part may close them.
    """
    pool = _Pool()
    new = [part for part in singles if pool.add(graph, part)]

    def fits(part: SubGraph) -> bool:
        one_scope = len({graph.scope[at] for at in members(part.nodes)}) == 1
        return one_scope and depth(graph, part.nodes) <= max_depth

    while new and joins is not _never:
        made = []
        for first in new:
            reached = 0
            for at in members(first.nodes):
                reached |= graph.users[at]
            reached &= ~first.nodes
            made += [
                first.union(second) for second in pool.parts
                if second.nodes & reached and not second.nodes & first.nodes
                and joins(first.kind, second.kind)
            ]  # fmt: skip
            if with_tuples:
                made += [
                    first.union(SubGraph(1 << at, INJECTIVE)) for at in members(reached)
                    if isinstance(graph.nodes[at], TupleGetItem)
                ]  # fmt: skip
        if with_tuples:
            made += _through_tuples(graph, pool)
        new = [part for part in made if fits(part) and pool.add(graph, part)]
    return pool.parts


def _through_tuples(graph: DataflowGraph, pool: _Pool) -> list[SubGraph]:
    """What reads a tuple, with it and with parts that give all of its fields."""
    found = []
    for at, node in enumerate(graph.nodes):
        if not isinstance(node, Tuple) or graph.users[at].bit_count() != 1:
            continue
        (user,) = members(graph.users[at])
        readers = [
            part for part in pool.starting.get(user, ())
            if part.kind <= INJECTIVE
        ]  # fmt: skip
        fields = [
            [part for part in pool.ending.get(one, ()) if part.kind <= INJECTIVE]
            for one in dict.fromkeys(graph.inputs[at])
        ]
        for reader, *given in product(readers, *fields):
            whole = reader.union(SubGraph(1 << at, INJECTIVE))
            for one in given:
                if one.nodes & whole.nodes:
                    break
                whole = whole.union(one)
            else:
                found.append(whole)
    return found

