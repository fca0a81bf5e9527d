"""Who compiles which part of a program, at the least cost.

    nn.relu(add(%a, %b))        targets ["llvm", "dnnl"]
    ->
    @collage_dnnl_add_nn_relu(%a, %b)       or as it was, whatever is estimated to be faster
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import count
from math import isfinite
from typing import Any

from tvm.error import InternalError, message
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.relay.expr import Call
from tvm.relay.function import Function
from tvm.relay.op.contrib.register import get_pattern_table
from tvm.relay.transform.infer_type import InferType
from tvm.relay.traverse import transform
from tvm.target.compilation_config import CompilationConfig

from .candidates import Candidate, Costs, check_covered, pruned
from .cost_estimator import CostEstimator
from .dataflow_graph import DataflowGraph, members
from .partition_rules import FUSION_STYLES, tvm_parts
from .sub_graph import Limits, SubGraph, exits, rewrite


def _check(config: object, cost_estimator: object = None) -> None:
    if not isinstance(config, CompilationConfig):
        raise InternalError(
            message(
                "CollagePartition: no configuration of targets",
                found=type(config).__name__,
                legal="tvm.target.make_compilation_config(ctxt, targets)",
            )
        )  # fmt: skip


@declare_module_pass("CollagePartition", opt_level=0, check=_check)
def CollagePartition(
    mod: IRModule, ctx: PassContext, config: Any, cost_estimator: Any = None
) -> IRModule:
    """The module whose kernels for outside compilers are functions of their own."""
    estimator = CostEstimator() if cost_estimator is None else cost_estimator
    mod = InferType()(mod)
    library = _Library(mod)
    made: dict[GlobalVar, Any] = {}
    for var, func in mod.functions.items():
        if isinstance(func, Function) and "Primitive" not in func.attrs:
            made[var] = library.outlined(_partitioned(func, ctx, config, estimator, library))
        else:
            made[var] = func
    return InferType()(mod.with_functions({**made, **library.used}))


def _partitioned(
    func: Function, ctx: PassContext, config: CompilationConfig, estimator: CostEstimator,
    library: _Library,
) -> RelaxExpr:  # fmt: skip
    graph = DataflowGraph(func)
    candidates = pruned(graph, _candidates(graph, ctx, config))
    check_covered(graph, candidates)
    costs = Costs(graph, estimator, library.named)
    priced = [(one, costs.of(one)) for one in candidates]
    best = _cheapest(graph, [(one, cost) for one, cost in priced if isfinite(cost)])
    merged = _merged(graph, [one for one in best if one.compiler])
    return rewrite(graph, [(one.part, one.attrs(graph, many)) for one, many in merged])


def _candidates(
    graph: DataflowGraph, ctx: PassContext, config: CompilationConfig
) -> list[Candidate]:
    from .collage import make_byoc_partition_rule

    found = []
    for target in config.primitive_targets:
        name = target.kind.name
        if get_pattern_table(name) is None:
            parts = tvm_parts(graph, _depth(ctx, "tvm"))
            found += [Candidate(part, target, "") for part in parts]
            continue
        rule = make_byoc_partition_rule(name)
        parts = rule.parts(graph, _fusion_style(ctx, name), _depth(ctx, "byoc"))
        found += [Candidate(part, target, name) for part in parts]
    return found


def _depth(ctx: PassContext, whose: str) -> int:
    key = f"relay.collage.{whose}_max_depth"
    depth = ctx.config.get(key)
    if depth is None:
        raise InternalError(
            message(f"CollagePartition: missing binding for {key!r} in pass context",
                    legal=f'PassContext(config={{"{key}": 8}})')
        )  # fmt: skip
    return int(depth)


def _fusion_style(ctx: PassContext, compiler: str) -> str:
    for entry in ctx.config.get("relay.collage.byoc_fusion_style") or ():
        name, _, style = str(entry).partition(".")
        if name != compiler:
            continue
        if style not in FUSION_STYLES:
            raise InternalError(
                message(
                    f"Invalid fusion name for compiler {compiler} in pass context",
                    found=style, legal=", ".join(FUSION_STYLES),
                )
            )  # fmt: skip
        return style
    return "ArbitraryFusion"


def _cheapest(
    graph: DataflowGraph, priced: Sequence[tuple[Candidate, float]]
) -> list[Candidate]:
    """Disjoint candidates with all calls among them, of the least cost; the first of equal ones.

    A search for the shortest way (Dijkstra): a state is what is covered, a step takes a candidate
    that begins with the first call that is not.
    """
    calls = sum(1 << at for at in range(len(graph.nodes)) if graph.is_call(at))
    starting: dict[int, list[tuple[Candidate, float]]] = {}
    for one, cost in priced:
        starting.setdefault(next(members(one.nodes & calls)), []).append((one, cost))
    best: dict[int, float] = {0: 0.0}
    way: dict[int, tuple[int, Candidate]] = {}
    number = count()
    queue = [(0.0, next(number), 0)]
    while queue:
        cost, _, covered = heapq.heappop(queue)
        if cost > best[covered]:
            continue
        left = calls & ~covered
        if not left:
            return _steps(way, covered)
        for one, price in starting.get(next(members(left)), ()):
            state = covered | one.nodes
            if not one.nodes & covered and cost + price < best.get(state, float("inf")):
                best[state] = cost + price
                way[state] = (covered, one)
                heapq.heappush(queue, (cost + price, next(number), state))
    raise InternalError(
        message("CollagePartition: no choice of candidates has all calls", legal="finite costs")
    )


def _steps(way: dict[int, tuple[int, Candidate]], state: int) -> list[Candidate]:
    steps = []
    while state:
        state, one = way[state]
        steps.append(one)
    return steps[::-1]


def _merged(
    graph: DataflowGraph, chosen: Sequence[Candidate]
) -> list[tuple[Candidate, bool]]:
    """Parts of one compiler that touch are one function, from the last one on; True for those."""
    found: list[tuple[Candidate, bool]] = []
    left = list(chosen)
    while left:
        whole, many = left.pop(), False
        for other in reversed(list(left)):
            joined = whole.part.union(other.part)
            same = (other.compiler, other.target) == (whole.compiler, whole.target)
            near = same and _touch(graph, whole.part, other.part)
            if near and Limits().hold(graph, joined.nodes):
                whole, many = Candidate(joined, whole.target, whole.compiler), True
                left.remove(other)
        found.append((whole, many))
    return found[::-1]


def _touch(graph: DataflowGraph, a: SubGraph, b: SubGraph) -> bool:
    return any(
        graph.users[at] & two.nodes
        for one, two in ((a, b), (b, a)) for at in exits(graph, one.nodes)
    )  # fmt: skip


class _Library:
    """Functions with a `global_symbol` out of line; equal ones once, others under further names.

    Candidates have their names from here, too, whether they are used in the end or not.
    """

    def __init__(self, mod: IRModule) -> None:
        self.used: dict[GlobalVar, Any] = {}
        self._known: dict[str, tuple[GlobalVar, Function]] = {}
        self._taken = {var.name_hint for var in mod.functions}

    def outlined(self, func: RelaxExpr) -> RelaxExpr:
        """The function whose calls of such functions name them."""

        def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
            if not (isinstance(new, Call) and isinstance(new.op, Function)):
                return new
            if "global_symbol" not in new.op.attrs:
                return new
            var = self.named(new.op)
            self.used.setdefault(var, self._known[var.name_hint][1])
            return Call(var, new.args, new.attrs, new.type_args, new.span)

        return transform(func, rule)

    def named(self, func: Function) -> GlobalVar:
        """The variable of a function: that of an equal one, or a new one."""
        name = str(func.attrs["global_symbol"])
        for number in count():
            fresh = f"{name}_{number}" if number else name
            as_named = func.with_attr("global_symbol", fresh)
            known = self._known.get(fresh)
            if known is not None and structural_equal(known[1], as_named):
                return known[0]
            if known is None and fresh not in self._taken:
                break
        self._known[fresh] = (GlobalVar(fresh), as_named)
        return self._known[fresh][0]
