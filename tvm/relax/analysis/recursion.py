"""Functions that call themselves, directly or through others."""

from __future__ import annotations

from tvm.ir.expr import GlobalVar
from tvm.ir.module import IRModule
from tvm.relax.expr import Function
from tvm.support.arguments import explained

from .variables import all_global_vars


@explained
def detect_recursion(mod: IRModule) -> list[list[GlobalVar]]:
    """Groups of functions that call each other in a circle; each sorted by name.

    The groups are the strongly connected components of the call graph (Tarjan, 1972), found with
    an explicit stack.
    """
    graph = _call_graph(mod)
    groups = []
    for component in _components(graph):
        if len(component) > 1 or component[0] in graph.get(component[0], ()):
            groups.append(sorted(component, key=lambda v: v.name_hint))
    return sorted(groups, key=lambda group: group[0].name_hint)


def callees_first(mod: IRModule) -> list[list[GlobalVar]]:
    """The Relax functions, each after those that it calls; a circle of calls is one group."""
    return _components(_call_graph(mod))


def _call_graph(mod: IRModule) -> dict[GlobalVar, list[GlobalVar]]:
    graph: dict[GlobalVar, list[GlobalVar]] = {}
    for var in mod.get_global_vars():
        func = mod[var]
        if isinstance(func, Function):
            used = all_global_vars(func)
            graph[var] = [v for v in used if isinstance(mod.functions.get(v), Function)]
    return graph


def _components(graph: dict[GlobalVar, list[GlobalVar]]) -> list[list[GlobalVar]]:
    number: dict[GlobalVar, int] = {}
    low: dict[GlobalVar, int] = {}
    open_: list[GlobalVar] = []
    is_open: set[GlobalVar] = set()
    found: list[list[GlobalVar]] = []
    for root in graph:
        if root in number:
            continue
        stack: list[tuple[GlobalVar, int]] = [(root, 0)]
        while stack:
            node, at = stack.pop()
            if at == 0:
                number[node] = low[node] = len(number)
                open_.append(node)
                is_open.add(node)
            targets = graph.get(node, [])
            if at < len(targets):
                stack.append((node, at + 1))
                target = targets[at]
                if target not in number:
                    stack.append((target, 0))
                elif target in is_open:
                    low[node] = min(low[node], number[target])
                continue
            if stack:
                caller = stack[-1][0]
                low[caller] = min(low[caller], low[node])
            if low[node] == number[node]:
                component = []
                while True:
                    member = open_.pop()
                    is_open.discard(member)
                    component.append(member)
                    if member is node:
                        break
                found.append(component)
    return found
