"""Parts of a graph of values, whether they can be functions, and the functions.

    %0 = nn.relu(%x); %1 = abs(%0); add(%1, %y)        the part {abs, add}
    ->
    fn (%FunctionVar_0, %FunctionVar_1) { %0 = abs(%FunctionVar_0); add(%0, %FunctionVar_1) }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tvm.ir.expr import RelaxExpr
from tvm.ir.op import Op
from tvm.relay.expr import Call, Let, Tuple, TupleGetItem, Var
from tvm.relay.function import Function
from tvm.relay.traverse import children, rebuild
from tvm.relay.ty import TupleType

from .dataflow_graph import DataflowGraph, members


@dataclass(frozen=True)
class SubGraph:
    """A set of nodes, and which of them are functions of their own inside: label and nodes."""

    nodes: int
    kind: int = 0
    nested: tuple[tuple[str, int], ...] = ()

    def union(self, that: SubGraph) -> SubGraph:
        """Both together."""
        return SubGraph(
            self.nodes | that.nodes, max(self.kind, that.kind), self.nested + that.nested
        )


@dataclass(frozen=True)
class Limits:
    """What a part may be: results, whether one of them is read inside too, calls in a row."""

    max_exits: int = 0  # 0: any number
    allow_taps: bool = True
    max_depth: int = 0  # 0: any

    def hold(self, graph: DataflowGraph, nodes: int) -> bool:
        """Whether a part is within them, in one scope, and no value leaves it and comes back."""
        if len({graph.scope[at] for at in members(nodes) if not graph.stays_inside(at)}) > 1:
            return False
        if self.max_depth and depth(graph, nodes) > self.max_depth:
            return False
        out = exits(graph, nodes)
        if self.max_exits and len(out) > self.max_exits:
            return False
        if not self.allow_taps and any(graph.users[at] & nodes for at in out):
            return False
        outside = 0
        for at in out:
            outside |= graph.users[at] & ~nodes
        return not any(graph.below[user] & nodes for user in members(outside))


def exits(graph: DataflowGraph, nodes: int) -> list[int]:
    """The nodes of a part whose values are read outside."""
    return [at for at in members(nodes) if graph.users[at] & ~nodes and not graph.stays_inside(at)]


def depth(graph: DataflowGraph, nodes: int) -> int:
    """The most nodes in a row, operators and constants not counted."""
    rows: dict[int, int] = {}
    for at in members(nodes):
        if not graph.stays_inside(at):
            rows[at] = 1 + max((rows.get(one, 0) for one in graph.inputs[at]), default=0)
    return max(rows.values(), default=0)


@dataclass(frozen=True)
class Extracted:
    """A part as a function, the nodes that are its operands and those that are its results."""

    func: Function
    inputs: list[int]
    exits: list[int]


def extract(graph: DataflowGraph, part: SubGraph, attrs: Mapping[str, Any]) -> Extracted:
    """The function of a part; several results are a tuple."""
    return _Extractor(graph, part).run(attrs)


class _Extractor:
    def __init__(self, graph: DataflowGraph, part: SubGraph) -> None:
        self._graph = graph
        self._part = part
        self._made: dict[int, RelaxExpr] = {}
        self._params: list[Var] = []
        self._inputs: list[int] = []
        self._nested = {
            at: (label, nodes) for label, nodes in part.nested for at in exits(graph, nodes)
        }

    def run(self, attrs: Mapping[str, Any]) -> Extracted:
        graph, nodes = self._graph, self._part.nodes
        out = exits(graph, nodes)
        for at in reversed(out):
            self._make(at)
        results = [self._made[at] for at in out]
        body = results[0] if len(out) == 1 else Tuple(results)
        types = [graph.nodes[at].checked_type_ for at in out]
        kind = types[0] if len(out) == 1 else TupleType([t for t in types if t is not None])
        func = Function(self._params, body, kind, [], dict(attrs))
        return Extracted(func, self._inputs, out)

    def _make(self, root: int) -> None:
        """The node and all it reads, those first."""
        stack = [(root, False)]
        while stack:
            at, entered = stack.pop()
            if at in self._made:
                continue
            if not self._part.nodes >> at & 1:
                self._made[at] = self._from_outside(at)
                continue
            found = None
            if at in self._nested:
                label, nodes = self._nested[at]
                found = extract(self._graph, SubGraph(nodes), {"Composite": label})
            if not entered:
                read = found.inputs if found is not None else self._graph.inputs[at]
                stack.append((at, True))
                stack.extend((one, False) for one in reversed(read))
            elif found is not None:
                self._called(found)
            else:
                node = self._graph.nodes[at]
                parts = [self._made[self._graph.index[id(one)]] for one in children(node)]
                self._made[at] = rebuild(node, parts)

    def _called(self, found: Extracted) -> None:
        call = Call(found.func, [self._made[one] for one in found.inputs])
        self._made.update(results_of(call, found.exits))

    def _from_outside(self, at: int) -> RelaxExpr:
        node = self._graph.nodes[at]
        if self._graph.stays_inside(at):
            return node
        param = Var(f"FunctionVar_{len(self._params)}", node.checked_type_)
        self._params.append(param)
        self._inputs.append(at)
        return param


def results_of(call: Call, out: Sequence[int]) -> dict[int, RelaxExpr]:
    """What stands for each exit of a part that is called."""
    if len(out) == 1:
        return {out[0]: call}
    return {at: TupleGetItem(call, number) for number, at in enumerate(out)}


def rewrite(graph: DataflowGraph, parts: Sequence[tuple[SubGraph, Mapping[str, Any]]]) -> RelaxExpr:
    """The function with calls of disjoint parts, each a function with its attributes."""
    made: dict[int, RelaxExpr] = {}
    found = [extract(graph, part, attrs) for part, attrs in parts]
    owner = {at: one for one in found for at in one.exits}
    stack = [(len(graph.nodes) - 1, False)]
    while stack:
        at, entered = stack.pop()
        if at in made:
            continue
        node = graph.nodes[at]
        one = owner.get(at)
        if not entered:
            stack.append((at, True))
            if one is not None:
                read = one.inputs
            elif isinstance(node, Let):  # a variable after its value
                read = [graph.index[id(p)] for p in (node.value, node.var, node.body)]
            else:
                read = graph.inputs[at]
            stack.extend((each, False) for each in reversed(read) if each not in made)
        elif one is not None:
            made.update(results_of(Call(one.func, [made[each] for each in one.inputs]), one.exits))
        else:
            made[at] = rebuild(node, [made[graph.index[id(p)]] for p in children(node)])
    return made[len(graph.nodes) - 1]


def operator_names(graph: DataflowGraph, nodes: int) -> str:
    """The operators of a part in a name: `nn_relu_add`."""
    ops = [graph.nodes[at] for at in members(nodes) if graph.is_call(at)]
    return "_".join(
        call.op.name.replace(".", "_")
        for call in ops if isinstance(call, Call) and isinstance(call.op, Op)
    )  # fmt: skip
