"""Graphs that the original saved before version 0.22, in the form of that version.

    {"root": 1, "nodes": [{"type_key": ""},
                          {"type_key": "IntImm", "attrs": {"dtype": "int32", "value": "1"}}],
     "b64ndarrays": [], "attrs": {"tvm_version": "0.18.0"}}

There every field is a text; tensors stand beside the nodes; an absent node is the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from .json_graph import plain_names, refuse
from .node import NODE_TYPES

Saved = dict[str, Any]

_CONTAINERS: Final = {
    "Array": "ffi.Array", "runtime.Array": "ffi.Array", "ffi.Array": "ffi.Array",
    "Map": "ffi.Map", "StrMap": "ffi.Map", "runtime.Map": "ffi.Map", "ffi.Map": "ffi.Map",
}  # fmt: skip
_TEXTS: Final = ("runtime.String", "ffi.String", "String")
_BOXES: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    "runtime.BoxInt": ("int", int),
    "runtime.BoxFloat": ("float", float),
    "runtime.BoxBool": ("bool", lambda text: text in ("1", "true", "True")),
}
_NAMED: Final = {
    "Op": "ir.Op", "ir.Op": "ir.Op", "EnvFunc": "ir.EnvFunc", "ir.EnvFunc": "ir.EnvFunc",
    "SourceName": "ir.SourceName", "ir.SourceName": "ir.SourceName",
    "TargetKind": "target.TargetKind", "target.TargetKind": "target.TargetKind",
}  # fmt: skip
_TENSOR_FIELDS: Final = {
    "tir.AllocateConst": "data", "relax.expr.Constant": "data", "relay.Constant": "data",
}  # fmt: skip


def is_older(graph: object) -> bool:
    """True for a graph of this form: its nodes have type_keys."""
    if not isinstance(graph, dict) or not isinstance(graph.get("root"), int):
        return False
    nodes = graph.get("nodes")
    return isinstance(nodes, list) and any(isinstance(n, dict) and "type_key" in n for n in nodes)


def upgrade(graph: Mapping[str, Any]) -> Saved:
    """The graph with the nodes of version 0.22; nodes that are new stand behind the others."""
    if not isinstance(graph.get("nodes"), list):
        raise refuse(repr(graph.get("nodes"))[:80], "a list of nodes")
    work = _Upgrade(graph["nodes"], graph.get("b64ndarrays", ()))
    attrs = graph.get("attrs", {})
    return {"root_index": graph["root"], "nodes": work.run(), "metadata": dict(attrs)}


class _Upgrade:
    def __init__(self, nodes: list[Any], tensors: Any) -> None:
        self._old = nodes
        self._first_tensor = len(nodes)
        self._more: list[Saved] = [{"type": "ffi.Tensor", "data": text} for text in tensors]

    def run(self) -> list[Saved]:
        return [self._node(entry) for entry in self._old] + self._more

    def _add(self, kind: str, data: Any) -> int:
        self._more.append({"type": kind, "data": data})
        return len(self._old) + len(self._more) - 1

    def _node(self, entry: Any) -> Saved:
        if not isinstance(entry, dict) or not isinstance(entry.get("type_key"), str):
            raise refuse(repr(entry)[:80], "a node with its type_key")
        key, attrs = entry["type_key"], entry.get("attrs", {})
        if not key:
            return {"type": "None"}
        if key in _TEXTS:
            return {"type": "ffi.String", "data": entry.get("repr_str", "")}
        if key in _NAMED:
            return {"type": _NAMED[key], "data": entry.get("repr_str", attrs.get("name"))}
        if key in _BOXES:
            kind, read = _BOXES[key]
            return {"type": kind, "data": read(str(attrs.get("value", entry.get("repr_str"))))}
        if key in _CONTAINERS:
            return {"type": _CONTAINERS[key], "data": self._items(entry)}
        return self._fields(key if key in NODE_TYPES else f"ir.{key}", attrs)

    def _items(self, entry: Saved) -> list[int]:
        data = [_number(value) for value in entry.get("data", ())]
        if "keys" not in entry:
            return data
        pairs = zip(entry["keys"], data)
        return [k for key, value in pairs for k in (self._add("ffi.String", key), value)]

    def _fields(self, kind: str, attrs: Saved) -> Saved:
        if kind == "ir.DictAttrs" and "__dict__" not in attrs:
            texts = [(self._add("ffi.String", key), _number(at)) for key, at in attrs.items()]
            inside = self._add("ffi.Map", [k for pair in texts for k in pair])
            return {"type": kind, "data": {"__dict__": inside}}
        data = {name: _field(kind, name, text) for name, text in attrs.items()}
        place = _TENSOR_FIELDS.get(kind)
        if place in data:
            data[place] += self._first_tensor
        return {"type": kind, "data": data}


def _field(kind: str, name: str, text: Any) -> Any:
    if not isinstance(text, str):
        return text
    if name == "dtype" or name.endswith("_dtype"):
        return text
    if name not in plain_names(kind):
        return _number(text)
    if kind == "ir.FloatImm":
        return float(text)
    return text if kind == "relax.expr.DataTypeImm" else _number(text)


def _number(text: Any) -> int:
    try:
        return int(text)
    except (TypeError, ValueError):
        raise refuse(repr(text), "the number of a node, or a whole number") from None
