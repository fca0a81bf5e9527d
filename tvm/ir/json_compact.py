"""Saved programs of older versions, brought to the present form step by step.

A step is an updater: it renames, reshapes or drops nodes of the saved graph by their type key.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tvm.support.json_text import from_json

from .json import VERSION
from .json_graph import JSONError

Graph: TypeAlias = dict[str, Any]
Updater: TypeAlias = Callable[[Graph], Graph]
# An update takes a saved node and all saved nodes, and gives the node as the newer version has it.
NodeUpdate: TypeAlias = Callable[[dict[str, Any], list[dict[str, Any]]], dict[str, Any]]

# The steps between versions of our own form: by the version that they start from.
_STEPS: Final[dict[str, tuple[str, Updater]]] = {}


def get_version(jgraph: Mapping[str, Any]) -> str:
    """The version that wrote a saved graph; a ValueError if it does not say."""
    for holder in ("attrs", "metadata"):
        found = jgraph.get(holder)
        if isinstance(found, Mapping) and "tvm_version" in found:
            return str(found["tvm_version"])
    if "version" in jgraph:
        return str(jgraph["version"])
    raise JSONError("a saved program names its version; found a graph without one")


def _set_version(graph: Graph, version: str) -> None:
    for holder in ("attrs", "metadata"):
        if isinstance(graph.get(holder), dict) and "tvm_version" in graph[holder]:
            graph[holder]["tvm_version"] = version
            return
    graph["version"] = int(version) if version.isdigit() else version


def create_updater(
    node_map: Mapping[str, NodeUpdate | Sequence[NodeUpdate]], from_ver: str, to_ver: str
) -> Updater:
    """An updater from one version to the next.

    `node_map` has one update, or several in order, by type key. The updater raises a ValueError
    for a graph of another version than `from_ver`.
    """

    def updater(data: Graph) -> Graph:
        found = get_version(data)
        if not found.startswith(from_ver):
            raise JSONError(f"this step updates version {from_ver}; found version {found}")
        nodes: list[dict[str, Any]] = data["nodes"]
        for at, item in enumerate(nodes):
            updates = node_map.get(str(item.get("type_key", item.get("type"))), ())
            for update in updates if isinstance(updates, Sequence) else (updates,):
                item = update(item, nodes)
            nodes[at] = item
        _set_version(data, to_ver)
        return data

    return updater


def upgrade_json(json_str: str) -> str:
    """A saved program in the present form; a ValueError names a version that no step starts from.

    A text of the present version comes back with the same content.
    """
    try:
        graph = from_json(json_str)
    except ValueError as err:
        raise JSONError(f"a saved program is JSON text; found: {err}") from None
    if not isinstance(graph, dict):
        raise JSONError(f"a saved program is a JSON object; found a {type(graph).__name__}")
    while (version := get_version(graph)) != str(VERSION):
        if version not in _STEPS:
            legal = ", ".join([*_STEPS, str(VERSION)])
            raise JSONError(f"no way from version {version} of saved programs; legal: {legal}")
        graph = _STEPS[version][1](graph)
    return json.dumps(graph, indent=2)
