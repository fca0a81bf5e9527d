"""Order the bindings of dataflow blocks by what they depend on.

    a = R.exp(x)                             a = R.exp(x)
    b = R.exp(y)                             c = R.negative(a)
    c = R.negative(a)               ->       b = R.exp(y)
    d = R.negative(b)                        d = R.negative(b)

Depth-first follows a value to its readers at once, breadth-first goes level by level. From the
inputs, which become known in the order of the parameters, bindings stand as early as they can; from
the outputs, as late, and depth-first the operands of each in their order, first those of what
nobody reads. The whole function counts, bindings stay in their blocks. A binding stays behind
the casts that bind its symbols, and before calls that overwrite what it reads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Literal

from tvm.error import message
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    DataflowBlock,
    Function,
    MatchCast,
    Var,
)
from tvm.relax.struct_info_rules import tir_vars_in_struct_info
from tvm.relax.transform.inplace_results import order_edges
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import (
    all_bindings,
    rebuild_seq,
    sub_exprs,
    vars_needed,
    vars_used,
    with_bindings,
    with_body,
)

_LEGAL = {"order": ("depth-first", "breadth-first"), "direction": ("from-inputs", "from-outputs")}


def _check_options(order: str = "depth-first", direction: str = "from-inputs") -> None:
    for name, given in (("order", order), ("direction", direction)):
        if given not in _LEGAL[name]:
            legal = " or ".join(repr(one) for one in _LEGAL[name])
            raise ValueError(message(f"TopologicalSort: {name}={given!r}", legal=legal))


@relax_pass("TopologicalSort", check=_check_options)
def TopologicalSort(
    func: Function,
    mod: IRModule,
    ctx: PassContext,
    order: Literal["depth-first", "breadth-first"] = "depth-first",
    direction: Literal["from-inputs", "from-outputs"] = "from-inputs",
) -> Function:
    """Sort every dataflow block of the function."""
    bindings = list(all_bindings(func))
    results = list(vars_used(func.body.body))
    if direction == "from-inputs":
        chosen = _onwards(bindings, func.params, order == "depth-first")
    elif order == "depth-first":
        chosen = _towards(bindings, results)
    else:
        chosen = _backwards(bindings, results)
    rank = {bindings[i].var: place for place, i in enumerate(chosen)}

    def on_block(block: BindingBlock) -> BindingBlock:
        if not isinstance(block, DataflowBlock):
            return block
        return with_bindings(block, sorted(block.bindings, key=lambda b: rank[b.var]))

    return with_body(func, rebuild_seq(func.body, on_block))


def _roots(bindings: Sequence[Binding], results: Sequence[Var]) -> list[int]:
    """What nobody reads, then what gives the function's results."""
    place = {binding.var: i for i, binding in enumerate(bindings)}
    read = {var for binding in bindings for var in vars_needed(binding.value)}
    read.update(results)
    unread = [i for i, binding in enumerate(bindings) if binding.var not in read]
    return [*unread, *(place[var] for var in results if var in place)]


def _towards(bindings: Sequence[Binding], results: Sequence[Var]) -> list[int]:
    """From the results through operands, in their order: operands, then what they are for."""
    place = {binding.var: i for i, binding in enumerate(bindings)}
    roots = [*_roots(bindings, results), *range(len(bindings))]
    before = _dependencies(bindings)
    for i, binding in enumerate(bindings):
        operands = [place[var] for var in vars_needed(binding.value) if place.get(var, i) < i]
        before[i] = list(dict.fromkeys([*operands, *before[i]]))
    found: dict[int, None] = {}
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        i, entered = stack.pop()
        if i in found:
            continue
        if entered:
            found[i] = None
            continue
        stack.append((i, True))
        stack.extend((source, False) for source in reversed(before[i]))
    return list(found)


def _onwards(bindings: Sequence[Binding], params: Sequence[Var], depth_first: bool) -> list[int]:
    """From the parameters, in order: what they make computable, what that makes, and so on.

    What needs nothing (constants, zeros) comes after that.
    """
    inputs = {var: len(bindings) + i for i, var in enumerate(params)}
    before = _dependencies(bindings)
    for sources, binding in zip(before, bindings):
        sources += dict.fromkeys(inputs[v] for v in vars_needed(binding.value) if v in inputs)
    missing = [len(sources) for sources in before] + [0] * len(params)
    after: dict[int, list[int]] = {}
    for i, sources in enumerate(before):
        for source in sources:
            after.setdefault(source, []).append(i)
    queue = deque(inputs.values())
    queue.extend(i for i in range(len(bindings)) if not before[i])
    found: list[int] = []
    while queue:
        i = queue.popleft()
        if i < len(bindings):
            found.append(i)
        freed = []
        for j in after.get(i, ()):
            missing[j] -= 1
            if missing[j] == 0:
                freed.append(j)
        if depth_first:
            queue.extendleft(reversed(freed))
        else:
            queue.extend(freed)
    return found


def _backwards(bindings: Sequence[Binding], results: Sequence[Var]) -> list[int]:
    """From the results, level by level, through operands in their order; the last comes first."""
    place = {binding.var: i for i, binding in enumerate(bindings)}
    before = _dependencies(bindings)
    missing = [0] * len(bindings)
    for sources in before:
        for source in sources:
            missing[source] += 1
    roots = [*_roots(bindings, results), *range(len(bindings))]
    queue = deque(dict.fromkeys(i for i in roots if missing[i] == 0))
    found: list[int] = []
    while queue:
        i = queue.popleft()
        found.append(i)
        operands = [place[var] for var in vars_needed(bindings[i].value) if var in place]
        known = set(before[i])
        for j in dict.fromkeys([*(one for one in operands if one in known), *before[i]]):
            missing[j] -= 1
            if missing[j] == 0:
                queue.append(j)
    return found[::-1]


def _dependencies(bindings: Sequence[Binding]) -> list[list[int]]:
    """For each binding the earlier ones that it uses variables or symbols of, or waits for."""
    makers = {binding.var: i for i, binding in enumerate(bindings)}
    symbols: dict[object, int] = {}
    result: list[list[int]] = []
    for i, binding in enumerate(bindings):
        sources = {makers[var] for var in vars_needed(binding.value) if var in makers}
        infos = [expr.struct_info_ for expr in sub_exprs(binding.value)]
        for info in [*infos, binding.var.struct_info_]:
            if info is not None:
                sources.update(symbols[v] for v in tir_vars_in_struct_info(info) if v in symbols)
        if isinstance(binding, MatchCast):
            for var in tir_vars_in_struct_info(binding.struct_info):
                symbols.setdefault(var, i)
        sources.discard(i)
        result.append(sorted(sources))
    for i, j in order_edges(bindings):
        if i not in result[j]:
            result[j].append(i)
    return result
