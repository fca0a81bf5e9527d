"""Parts that are worth a look, with their compilers and costs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tvm.error import InternalError, message
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal, structural_hash
from tvm.relay.expr import Call, Tuple, TupleGetItem, Var
from tvm.relay.function import Function
from tvm.relay.transform.infer_type import InferType
from tvm.relay.ty import TupleType
from tvm.target import Target

from .cost_estimator import CostEstimator
from .dataflow_graph import DataflowGraph, members
from .sub_graph import SubGraph, extract, operator_names


@dataclass(frozen=True)
class Candidate:
    """A part and who may take it: an outside compiler, or TVM where that is empty."""

    part: SubGraph
    target: Target
    compiler: str

    @property
    def nodes(self) -> int:
        """Its nodes."""
        return self.part.nodes

    def attrs(self, graph: DataflowGraph, merged: bool = False) -> dict[str, Any]:
        """The attributes of its function; several parts together do not list their operators."""
        if not self.compiler:
            return {}
        label = "" if merged else "_" + operator_names(graph, self.nodes)
        name = "collage_" + re.sub(r"\W", "_", self.compiler) + label
        return {"Primitive": 1, "Compiler": self.compiler, "global_symbol": name}


def pruned(graph: DataflowGraph, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Without those that a greater one of the same compiler makes needless.

    Greater kernels cost less than their parts. So the greatest count, and of each what another
    that counts leaves of it, as both cannot be taken. Two ways to take the same nodes leave each
    other out, as in v0.18.
    """
    by_spec: dict[tuple[str, str], list[Candidate]] = {}
    for one in candidates:
        by_spec.setdefault((one.compiler, str(one.target)), []).append(one)
    inner: dict[int, list[Candidate]] = {}  # of each candidate, those of its compiler inside
    queue: list[Candidate] = []
    for same in by_spec.values():
        covered: set[int] = set()
        for one in same:
            inner[id(one)] = [
                other for other in same if other is not one and not other.nodes & ~one.nodes
            ]
            covered.update(id(other) for other in inner[id(one)])
        queue += [one for one in same if id(one) not in covered]
    # Tuples and their fields may also stay in the program.
    alone = [
        1 << at for at, node in enumerate(graph.nodes) if isinstance(node, (Tuple, TupleGetItem))
    ]
    kept: dict[int, Candidate] = {id(one): one for one in queue}

    def keep(whole: Candidate, without: int) -> None:
        for one in inner[id(whole)]:
            if not one.nodes & without and id(one) not in kept:
                kept[id(one)] = one
                queue.append(one)

    done: list[Candidate] = []
    while queue:
        one = queue.pop()
        for nodes in alone:
            if one.nodes & nodes:
                keep(one, nodes)
        for other in done:
            if one.nodes & other.nodes and one.nodes != other.nodes:
                keep(one, other.nodes)
                keep(other, one.nodes)
        done.append(one)
    order = {id(one): at for at, one in enumerate(candidates)}
    return sorted(
        done,
        key=lambda c: (next(members(c.nodes)), -c.nodes.bit_count(), not c.compiler, order[id(c)]),
    )


class Costs:
    """Costs of candidates; equal kernels are estimated once."""

    def __init__(
        self, graph: DataflowGraph, estimator: CostEstimator, named: Callable[[Function], GlobalVar]
    ) -> None:
        self._graph: Final = graph
        self._named: Final = named
        self._estimator: Final = estimator
        self._known: dict[tuple[str, int], list[tuple[IRModule, float]]] = {}

    def of(self, candidate: Candidate) -> float:
        """The estimate for the candidate as a module."""
        mod = as_module(self._graph, candidate, self._named)
        key = (str(candidate.target), structural_hash(mod))
        known = self._known.setdefault(key, [])
        for other, cost in known:
            if structural_equal(mod, other):
                return cost
        cost = float(self._estimator.estimate(mod, candidate.target))
        known.append((mod, cost))
        return cost


def as_module(
    graph: DataflowGraph, candidate: Candidate, named: Callable[[Function], GlobalVar]
) -> IRModule:
    """The candidate as main of a module, which takes fields of tuples one by one."""
    func = extract(graph, candidate.part, candidate.attrs(graph)).func
    params: list[Var] = []

    def param(kind: Any) -> RelaxExpr:
        if isinstance(kind, TupleType):
            return Tuple([param(field) for field in kind.fields])
        params.append(Var(f"FunctionVar_{len(params)}", kind))
        return params[-1]

    args = [param(var.type_annotation) for var in func.params]
    functions: dict[GlobalVar, Any] = {}
    if candidate.compiler:
        var = named(func)
        functions[var] = func.with_attr("global_symbol", var.name_hint)
        body: RelaxExpr = Call(var, args)
    else:
        from tvm.relay.rewrite import bind

        body = bind(func.body, dict(zip(func.params, args)))
    main = Function(params, body, func.ret_type)
    return InferType()(IRModule({**functions, GlobalVar("main"): main}))


def check_covered(graph: DataflowGraph, candidates: Sequence[Candidate]) -> None:
    """Refuse a graph with a call that nobody takes."""
    taken = 0
    for one in candidates:
        taken |= one.nodes
    for at in range(len(graph.nodes)):
        if graph.is_call(at) and not taken >> at & 1:
            call = graph.nodes[at]
            assert isinstance(call, Call), "it was asked"
            raise InternalError(
                message(
                    "CollagePartition: nobody takes a call",
                    found=getattr(call.op, "name", ""), where=f"expression {at} of the function",
                    legal="operators of TVM's that can be fused, or in patterns of the targets",
                )
            )  # fmt: skip
