"""Circles of modules that import each other, within functions and for types too, are small."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.structure.sources import modules, own_imports

pytestmark = pytest.mark.pure

MOST = 9
# Larger circles: a module of each, how many there may be, and why they are one.
LARGER: dict[str, tuple[int, str]] = {
    "tvm.relax.frontend.nn.core": (12, "a module exports itself, and its tensors have operators"),
    "tvm.tir.expr": (11, "words fold and specialize themselves by methods of theirs"),
    "tvm.meta_schedule.schedule_rule.schedule_rule": (11, "`create` makes the rules of a target"),
    "tvm.meta_schedule.postproc.postproc": (11, "`create` makes those of a target"),
}


def circles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """The strongly connected components of two modules and more (Tarjan 1972)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    on_path: set[str] = set()
    found: list[set[str]] = []
    for root in sorted(graph):
        if root in number:
            continue
        open_nodes = [(root, iter(sorted(graph[root])))]
        number[root] = lowest[root] = len(number)
        path.append(root)
        on_path.add(root)
        while open_nodes:
            node, targets = open_nodes[-1]
            for target in targets:
                if target not in number:
                    number[target] = lowest[target] = len(number)
                    path.append(target)
                    on_path.add(target)
                    open_nodes.append((target, iter(sorted(graph[target]))))
                    break
                if target in on_path:
                    lowest[node] = min(lowest[node], number[target])
            else:
                open_nodes.pop()
                if open_nodes:
                    above = open_nodes[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == number[node]:
                    at = path.index(node)
                    component, path[at:] = set(path[at:]), []
                    on_path -= component
                    if len(component) > 1:
                        found.append(component)
    return found


def _imports() -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {name: set() for name in modules()}
    for found in own_imports():
        if found.target in graph and found.target != found.importer:
            graph[found.importer].add(found.target)
    return graph


def test_circles_of_imports_are_small() -> None:
    large = []
    seen = {name: 0 for name in LARGER}
    for circle in circles(_imports()):
        names = sorted(circle & LARGER.keys())
        for name in names:
            seen[name] = len(circle)
        if len(circle) > max([MOST, *(LARGER[name][0] for name in names)]):
            large.append(f"{len(circle)} files: {' '.join(sorted(circle))}")
    assert not large, "\n".join(large)
    smaller = {name: size for name, size in seen.items() if size != LARGER[name][0]}
    assert not smaller, f"these circles have shrunk, and so should their limits: {smaller}"


def test_circles_of_a_small_graph() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert sorted(map(sorted, circles(graph))) == [["a", "b", "c"], ["d", "e"]]
