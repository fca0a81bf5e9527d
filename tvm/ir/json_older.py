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
# Types under the names that versions up to 0.6 gave them; prefixes are found by trying.
_RENAMED: Final = {
    "Variable": "tir.Var", "relay.Module": "ir.IRModule", "Module": "ir.IRModule",
    "relay.Id": "relax.Id",
}  # fmt: skip
_PREFIXES: Final = ("ir.", "relay.", "tir.")
_NAMES: Final = ("name", "name_hint", "func_name")  # texts, which once stood there themselves
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
        if key.removeprefix("relay.") in _NAMED:
            key = key.removeprefix("relay.")
        if not key:
            return {"type": "None"}
        if key in _TEXTS:
            return {"type": "ffi.String", "data": entry.get("repr_str", "")}
        if key in _NAMED:
            known = entry.get("repr_str", entry.get("global_key", attrs.get("name")))
            return {"type": _NAMED[key], "data": known}
        if key in _BOXES:
            kind, read = _BOXES[key]
            return {"type": kind, "data": read(str(attrs.get("value", entry.get("repr_str"))))}
        if key in _CONTAINERS:
            return {"type": _CONTAINERS[key], "data": self._items(entry)}
        return self._fields(_node_type(key), attrs)

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
        if kind in _VARIABLES and "var" in attrs:
            attrs = {**attrs, "name_hint": self._name_of(attrs["var"])}
        data = {name: self._field(kind, name, text) for name, text in attrs.items()}
        if "_checked_type_" in data:
            data["checked_type_"] = data.pop("_checked_type_")
        if kind == "relay.IncompleteType" and "kind" not in data:
            data["kind"] = 0
        field = _TENSOR_FIELDS.get(kind)
        if field in data:
            data[field] += self._first_tensor
        if kind == "relay.Match":
            data["complete"] = bool(data.get("complete"))
        return {"type": kind, "data": data}

    def _name_of(self, at: Any) -> str:
        """The name of a variable for extents, which a type's variable once held."""
        number = _number(at)
        entry = self._old[number] if 0 <= number < len(self._old) else None
        name = entry.get("attrs", {}).get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str):
            raise refuse(repr(entry)[:80], "a variable with its name")
        return name if not name.isdigit() else str(self._old[int(name)].get("repr_str", ""))

    def _field(self, kind: str, name: str, text: Any) -> Any:
        is_text = name in _NAMES or (kind == "tir.StringImm" and name == "value")
        if is_text and isinstance(text, str) and not _is_whole(text):
            return self._add("ffi.String", text)
        if kind.startswith("relay.attrs.") and isinstance(text, str):
            return self._option(kind, name, text)
        return _field(kind, name, text)

    def _option(self, kind: str, name: str, text: str) -> Any:
        """An option of an operator of Relay: a value where its default is one, else a node."""
        default = getattr(NODE_TYPES.get(kind), "DEFAULTS", {}).get(name)
        if isinstance(default, bool):
            return text in ("1", "true", "True")
        if isinstance(default, float):
            return float(text)
        if not _is_whole(text):
            return text
        return self._add("int", int(text)) if isinstance(default, int) else int(text)


_VARIABLES: Final = ("relay.TypeVar", "relay.GlobalTypeVar")


def _node_type(key: str) -> str:
    """The type of a node by its name in any version."""
    key = _RENAMED.get(key, key)
    if key in NODE_TYPES:
        return key
    last = key.rpartition(".")[2]
    tried = [*(prefix + key for prefix in _PREFIXES), *(prefix + last for prefix in _PREFIXES)]
    return next((name for name in tried if name in NODE_TYPES), f"ir.{key}")


def _is_whole(text: str) -> bool:
    return text.lstrip("-").isdigit()


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
