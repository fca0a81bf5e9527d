"""How a model's functions call one another: no circles, no endless nests, no doubling without end.

Each call is written out where it stands, so thirty functions of two calls each are a thousand
million nodes. All of this is told from the functions alone, before a node is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tvm.error import message

from .graph import DEEPEST, Functions, OpConversionError, inner_graphs, node_name

# Nodes with all calls written out: some minutes of importing.
MAX_NODES = 200_000

_Key = tuple[str, str]


def check_calls(nodes: Iterable[Any], functions: Functions) -> None:
    """Refuse a model whose functions cannot be written out, or never would end."""
    sizes: dict[_Key, tuple[int, int]] = {}  # nodes written out, and levels
    for number, node in enumerate(nodes):
        for key in _called([node], functions):
            _measure(key, functions, sizes, node_name(node, number))
    total = _written_out(nodes, functions, sizes)[0]
    if total > MAX_NODES:
        largest = max(sizes, key=lambda key: sizes[key][0])
        raise OpConversionError(
            message(
                f"from_onnx: functions within functions make {total:,} nodes",
                where=f"function {largest[1]!r} makes {sizes[largest][0]:,}",
                legal=f"up to {MAX_NODES:,}",
            )
        )


def _measure(
    first: _Key, functions: Functions, sizes: dict[_Key, tuple[int, int]], where: str
) -> None:
    """The size of a function, after those of all that it calls."""
    stack, open_now = [first], set()
    while stack:
        key = stack[-1]
        if key in sizes:
            stack.pop()
            continue
        body = functions[key].node
        missing = [inner for inner in _called(body, functions) if inner not in sizes]
        if not missing:
            sizes[key] = _written_out(body, functions, sizes)
            open_now.discard(key)
            stack.pop()
            if sizes[key][1] > DEEPEST:
                raise OpConversionError(
                    message(
                        f"from_onnx: function {key[1]!r} calls others to a depth of "
                        f"{sizes[key][1]}",
                        where=f"node {where!r}",
                        legal=f"up to {DEEPEST} levels",
                    )
                )
            continue
        open_now.add(key)
        for inner in missing:
            if inner in open_now:
                raise OpConversionError(
                    message(
                        f"from_onnx: function {inner[1]!r} calls itself",
                        found=f"by way of {key[1]!r}",
                        where=f"node {where!r}",
                        legal="functions that end in operators",
                    )
                )
        stack += missing


def _written_out(
    nodes: Iterable[Any], functions: Functions, sizes: dict[_Key, tuple[int, int]]
) -> tuple[int, int]:
    """How many nodes there are with all calls written out, and how deep calls are nested."""
    total, depth = 0, 0
    for node in _every(nodes):
        own = sizes.get((node.domain, node.op_type))
        total += 1 if own is None else own[0]
        depth = depth if own is None else max(depth, own[1])
    return total, depth + 1


def _called(nodes: Iterable[Any], functions: Functions) -> list[_Key]:
    keys = ((node.domain, node.op_type) for node in _every(nodes))
    return list(dict.fromkeys(key for key in keys if key in functions))


def _every(nodes: Iterable[Any]) -> Iterator[Any]:
    """The nodes, and those of graphs within them."""
    todo = list(nodes)
    while todo:
        node = todo.pop()
        yield node
        for graph in inner_graphs(node):
            todo += graph.node
