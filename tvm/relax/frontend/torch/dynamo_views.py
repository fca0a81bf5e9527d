"""Results of a graph that are views of its inputs: torch takes them, the rest is compiled.

Such a result has to be the input's memory, with the strides that torch has given it: what it is
written to is the input, and where torch makes the view anew it goes by these strides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Compiler: TypeAlias = "Callable[[Any], Callable[..., Any]]"


def fake_memory(node: Any) -> Any:
    """What tells the memory of a value apart; None where torch has not followed it."""
    meta = getattr(node, "meta", {})
    value = meta.get("example_value", meta.get("val"))
    if value is None:
        value = getattr(meta.get("grapharg"), "fake_tensor", None)
    storage = getattr(value, "untyped_storage", None)
    return None if storage is None else storage()._cdata


def views_of_inputs(graph_module: Any) -> list[int]:
    """Which results are views of inputs, but for the inputs themselves."""
    nodes = list(graph_module.graph.nodes)
    given = {fake_memory(node) for node in nodes if node.op == "placeholder"} - {None}
    return [
        number for number, result in enumerate(_results(graph_module))
        if getattr(result, "op", "placeholder") not in ("placeholder", "get_attr")
        and fake_memory(result) in given
    ]  # fmt: skip


def with_views(graph_module: Any, compiled: Compiler) -> Callable[..., Any]:
    """The graph as a function that takes views of its inputs, and computes what is no such."""
    numbers, results = views_of_inputs(graph_module), _results(graph_module)
    if not numbers:
        return compiled(graph_module)
    views = _giving(graph_module, [results[number] for number in numbers])
    others = [number for number in range(len(results)) if number not in numbers]
    if not others:
        return _as_given(graph_module, views.forward)
    rest = compiled(_giving(graph_module, [results[number] for number in others]))

    def run(*given: Any) -> Any:
        found = [*zip(numbers, views.forward(*given)), *zip(others, rest(*given))]
        return tuple(value for _, value in sorted(found, key=lambda pair: pair[0]))

    return run


def _results(graph_module: Any) -> list[Any]:
    results = next(iter(reversed(graph_module.graph.nodes))).args[0]
    return list(results) if isinstance(results, (tuple, list)) else [results]


def _as_given(graph_module: Any, run: Callable[..., Any]) -> Callable[..., Any]:
    """One result alone, where the graph gives no tuple."""
    results = next(iter(reversed(graph_module.graph.nodes))).args[0]
    return run if isinstance(results, (tuple, list)) else lambda *given: run(*given)[0]


def _giving(graph_module: Any, results: Sequence[Any]) -> Any:
    """The graph of the same inputs that gives these results only."""
    from torch.fx import Graph, GraphModule

    graph, where = Graph(), dict[Any, Any]()
    graph.graph_copy(graph_module.graph, where)
    graph.output(tuple(where.get(one, one) if hasattr(one, "op") else one for one in results))
    graph.eliminate_dead_code()
    return GraphModule(graph_module, graph)
