"""Writers of the forms in which the original saved graphs, for the tests of their readers."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from tvm.ir.node import Node
from tvm.ir.op import Op
from tvm.runtime.params import _tensor_bytes
from tvm.support.dtype import DataType
from tvm.target import Target

Saved = dict[str, Any]


def tensor_text(value: Any) -> str:
    """A tensor as the original writes it."""
    return base64.b64encode(_tensor_bytes(value)).decode()


class NewForm:
    """Version 0.22: children first, plain fields in place, all else by number."""

    def __init__(self) -> None:
        self.nodes: list[Saved] = []
        self.index: dict[int, int] = {}
        self.keep: list[object] = []

    def graph(self, root: Any) -> Saved:
        at = self.at(root)
        return {"root_index": at, "nodes": self.nodes, "metadata": {"tvm_version": "0.22.0"}}

    def at(self, value: Any) -> int:
        if not isinstance(value, Node):
            return self.add(value)
        if id(value) not in self.index:
            self.index[id(value)] = self.add(value)
            self.keep.append(value)
        return self.index[id(value)]

    def add(self, value: Any) -> int:
        node = self.form(value)
        self.nodes.append(node)
        return len(self.nodes) - 1

    def form(self, value: Any) -> Saved:
        if value is None:
            return {"type": "None"}
        if isinstance(value, Op):
            return {"type": "ir.Op", "data": value.name}
        if isinstance(value, Target):
            return {"type": "target.Target", "data": self.target(value)}
        if isinstance(value, Node):
            return {"type": value.TYPE_KEY, "data": self.fields(value)}
        if isinstance(value, str):
            return {"type": "ffi.String", "data": str(value)}
        if isinstance(value, (bool, int, float)):
            return {"type": type(value).__name__, "data": value}
        if isinstance(value, (tuple, list)):
            return {"type": "ffi.Array", "data": [self.at(item) for item in value]}
        if hasattr(value, "items"):
            pairs = [self.at(part) for item in value.items() for part in item]
            return {"type": "ffi.Map", "data": pairs}
        return {"type": "ffi.Tensor", "data": tensor_text(value)}

    def fields(self, node: Node) -> Saved:
        values = {name: self.field(value) for name, value in node.field_values().items()}
        if node.TYPE_KEY == "tir.Buffer":
            values["buffer_type"] = 2 if node.field_values()["buffer_type"] else 1
        if node.TYPE_KEY == "ir.IRModule":
            del values["type_definitions"]
            values["global_var_map_"] = self.at({})
        return values

    def field(self, value: Any) -> Any:
        if isinstance(value, DataType):
            return str(value) or "void"
        if isinstance(value, (bool, float)):
            return value
        return int(value) if isinstance(value, int) else self.at(value)

    def target(self, target: Target) -> Saved:
        self.nodes.append({"type": "target.TargetKind", "data": target.kind.name})
        kind = len(self.nodes) - 1
        return {
            "kind": kind,
            "tag": self.at(target.tag),
            "keys": self.at(tuple(target.keys)),
            "attrs": self.at(dict(target.attrs)),
            "features": self.at({}),
            "host": self.at(target.host),
        }


def old_form(root: Any) -> Saved:
    """Before 0.22: every field a text, tensors beside the nodes, the absent node first."""
    new = NewForm().graph(root)
    tensors: list[str] = []
    nodes = [{"type_key": ""}, *[_old_node(node, tensors) for node in new["nodes"]]]
    return {
        "root": new["root_index"] + 1,
        "nodes": nodes,
        "b64ndarrays": tensors,
        "attrs": {"tvm_version": "0.18.0"},
    }


def _old_node(node: Saved, tensors: list[str]) -> Saved:
    kind, data = node["type"], node.get("data")
    if kind == "None":
        return {"type_key": ""}
    if kind == "ffi.Tensor":
        tensors.append(data)
        return {"type_key": ""}
    if kind in ("ffi.String", "ir.Op", "target.TargetKind"):
        name = {"ffi.String": "runtime.String", "ir.Op": "Op"}.get(kind, "TargetKind")
        return {"type_key": name, "repr_str": data}
    if kind in ("int", "float", "bool"):
        text = str(int(data) if kind == "bool" else data)
        return {"type_key": f"runtime.Box{kind.title()}", "attrs": {"value": text}}
    if kind in ("ffi.Array", "ffi.Map"):
        return {"type_key": kind.removeprefix("ffi."), "data": [k + 1 for k in data]}
    return {"type_key": kind.removeprefix("ir."), "attrs": _old_fields(kind, data)}


def _old_fields(kind: str, data: Saved) -> Saved:
    from tvm.ir.json_graph import plain_names

    place: Callable[[str, Any], Any] = (
        lambda name, value: value if name in plain_names(kind) else value + 1
    )
    numbers = {name: place(name, v) for name, v in data.items() if type(v) is int}
    if kind == "tir.AllocateConst":
        numbers["data"] = 0
    rest = {name: str(int(v) if isinstance(v, bool) else v) for name, v in data.items()}
    return {name: str(numbers.get(name, rest[name])) for name in data}
