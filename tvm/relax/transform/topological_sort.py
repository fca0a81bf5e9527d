"""Order the bindings of dataflow blocks by what they depend on.

    a = R.exp(x)                             a = R.exp(x)
    b = R.exp(y)                             c = R.negative(a)
    c = R.negative(a)               ->       b = R.exp(y)
    d = R.negative(b)                        d = R.negative(b)

Depth-first follows a value to its readers at once, breadth-first goes level by level. From the
inputs, bindings stand as early as they can; from the outputs, as late. What has no order between
it keeps the order it had. A binding stays behind the casts that bind its symbols.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Literal

from tvm.error import message
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.expr import Binding, BindingBlock, DataflowBlock, Function, MatchCast
from tvm.relax.struct_info_rules import tir_vars_in_struct_info
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import rebuild_seq, sub_exprs, vars_used, with_bindings, with_body

_LEGAL = {"order": ("depth-first", "breadth-first"), "direction": ("from-inputs", "from-outputs")}


@relax_pass("TopologicalSort")
def TopologicalSort(
    func: Function,
    mod: IRModule,
    ctx: PassContext,
    order: Literal["depth-first", "breadth-first"] = "depth-first",
    direction: Literal["from-inputs", "from-outputs"] = "from-inputs",
) -> Function:
    """Sort every dataflow block of the function."""
    for name, given in (("order", order), ("direction", direction)):
        if given not in _LEGAL[name]:
            legal = " or ".join(repr(one) for one in _LEGAL[name])
            raise ValueError(message(f"TopologicalSort: {name}={given!r}", legal=legal))

    def on_block(block: BindingBlock) -> BindingBlock:
        if not isinstance(block, DataflowBlock):
            return block
        chosen = _sorted(block.bindings, order == "depth-first", direction == "from-outputs")
        return with_bindings(block, [block.bindings[i] for i in chosen])

    return with_body(func, rebuild_seq(func.body, on_block))


def _sorted(bindings: Sequence[Binding], depth_first: bool, backwards: bool) -> list[int]:
    """The positions of the bindings in their new order."""
    before = _dependencies(bindings)
    after: list[list[int]] = [[] for _ in bindings]
    for i, sources in enumerate(before):
        for source in sources:
            after[source].append(i)
    waits_for, leads_to = (after, before) if backwards else (before, after)
    found = _visit(waits_for, leads_to, depth_first, backwards)
    return found[::-1] if backwards else found


def _visit(
    waits_for: list[list[int]], leads_to: list[list[int]], depth_first: bool, backwards: bool
) -> list[int]:
    """Positions such that each comes after all that it waits for."""
    missing = [len(sources) for sources in waits_for]
    ready = [i for i, count in enumerate(missing) if count == 0]
    if backwards:
        ready.reverse()  # the last binding is the first on the way back
    queue = deque(ready)
    found: list[int] = []
    while queue:
        i = queue.popleft()
        found.append(i)
        freed = []
        for j in sorted(leads_to[i], reverse=backwards):
            missing[j] -= 1
            if missing[j] == 0:
                freed.append(j)
        if depth_first:
            queue.extendleft(reversed(freed))
        else:
            queue.extend(freed)
    return found


def _dependencies(bindings: Sequence[Binding]) -> list[list[int]]:
    """For each binding the earlier ones whose variables or symbols it uses."""
    makers = {binding.var: i for i, binding in enumerate(bindings)}
    symbols: dict[object, int] = {}
    result: list[list[int]] = []
    for i, binding in enumerate(bindings):
        sources = {makers[var] for var in vars_used(binding.value) if var in makers}
        infos = [expr.struct_info_ for expr in sub_exprs(binding.value)]
        for info in [*infos, binding.var.struct_info_]:
            if info is not None:
                sources.update(symbols[v] for v in tir_vars_in_struct_info(info) if v in symbols)
        if isinstance(binding, MatchCast):
            for var in tir_vars_in_struct_info(binding.struct_info):
                symbols.setdefault(var, i)
        sources.discard(i)
        result.append(sorted(sources))
    return result
