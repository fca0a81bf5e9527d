"""Programs as JSON: a list of nodes, children before parents, shared parts written once.

    {"root": 3, "nodes": [{"type": "ir.IntImm", "data": {"dtype": "int32", "value": 1}}, ...]}

A field holds plain data, or {"$": kind, ...} where kind is node, tuple, shape, map, dtype, float,
tensor or module (of the runtime, where its kind can be written as bytes).
Loading builds nodes through their constructors and never executes anything from the text.
Graphs that the original saved are read as well (`json_graph`, `json_older`).
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

from tvm.error import TVMError, message
from tvm.ffi.object import as_object
from tvm.ffi.registry import get_global_func
from tvm.support.dtype import DataType
from tvm.support.frozen import FrozenMap
from tvm.support.json_text import from_json

from .attrs import Attrs
from .expr import GlobalVar
from .host_tensor import HostTensor
from .json_graph import JSONError, load_graph
from .json_older import is_older, upgrade
from .node import NODE_TYPES, Node
from .op import Op
from .structural import is_tensor_class

VERSION = 1
_PLAIN = frozenset((str, int, bool, type(None)))  # they are written as they are
# What values of other kinds than a constructor takes may make it raise, beside what it says itself.
_MISFITS = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)


class Writer:
    """`apart` takes the tensors, which the text then names by number; without it they are in it."""

    def __init__(self, apart: list[Any] | None = None) -> None:
        self.apart = apart
        self.nodes: list[dict[str, Any]] = []
        self.index: dict[int, int] = {}
        self.keep: list[object] = []  # holds what `index` knows by address

    def save(self, root: Any) -> dict[str, Any]:
        # a node is met twice: first without its fields, and with them once its children are there
        stack: list[tuple[Node, dict[str, Any] | None]] = [(n, None) for n in nodes_in(root)]
        while stack:
            node, fields = stack.pop()
            if id(node) in self.index:
                continue
            if fields is not None:
                self._write(node, fields)
                continue
            fields = _saved_fields(node)
            stack.append((node, fields))
            for value in fields.values():
                if value.__class__ not in _PLAIN:
                    stack += [(child, None) for child in nodes_in(value)[::-1]]
        return {"version": VERSION, "root": self.encode(root), "nodes": self.nodes}

    def _write(self, node: Node, fields: dict[str, Any]) -> None:
        data = {
            name: value if value.__class__ in _PLAIN else self.encode(value)
            for name, value in fields.items()
        }
        if isinstance(node, Attrs):  # their constructors do not know which words are data types
            for name, value in _saved_fields(node).items():
                if isinstance(value, DataType):
                    data[name] = {"$": "dtype", "name": str(value)}
        self.index[id(node)] = len(self.nodes)
        self.keep.append(node)
        self.nodes.append({"type": node.TYPE_KEY, "data": data})

    def reference(self, node: Node) -> Any:
        """What stands for a node that was written."""
        return {"$": "node", "at": self.index[id(node)]}

    def encode(self, value: Any) -> Any:
        if isinstance(value, Node):
            return self.reference(value)
        if isinstance(value, str):
            return str(value)
        if _is_sequence(value):
            kind = "shape" if type(value).__name__ == "Shape" else "tuple"  # one of the runtime's
            return {"$": kind, "items": [self.encode(item) for item in value]}
        if isinstance(value, Mapping):
            items = [[self.encode(key), self.encode(item)] for key, item in value.items()]
            return {"$": "map", "items": items}
        if is_tensor_class(type(value)):
            shape = [int(extent) for extent in value.shape]
            entry = {"$": "tensor", "dtype": str(value.dtype), "shape": shape}
            if self.apart is not None:
                self.apart.append(value)
                return {**entry, "at": len(self.apart) - 1}
            return {**entry, "data": base64.b64encode(value.numpy().tobytes()).decode()}
        if hasattr(value, "save_to_bytes"):  # a module of the runtime
            data = base64.b64encode(value.save_to_bytes()).decode()
            imports = [self.encode(module) for module in value.imports]
            return {"$": "module", "kind": value.kind, "data": data, "imports": imports}
        if isinstance(value, float) and not math.isfinite(value):
            return {"$": "float", "value": repr(value)}
        if isinstance(value, IntEnum):
            return int(value)
        if value is None or isinstance(value, (bool, int, float)):
            return value
        raise TypeError(f"save_json: a {type(value).__name__} cannot be saved: {value!r}")


def _saved_fields(node: Node) -> dict[str, Any]:
    if isinstance(node, Op):
        return {"name": node.name}
    return node.field_values()


def nodes_in(value: Any) -> list[Node]:
    """The nodes in a field's value, not looking into them."""
    if isinstance(value, Node):
        return [value]
    found: list[Node] = []
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, Node):
            found.append(item)
        elif _is_sequence(item):
            stack.extend(reversed(list(item)))
        elif isinstance(item, Mapping):
            for key, inner in reversed(list(item.items())):
                stack.extend((inner, key))
    return found


def _is_sequence(value: object) -> bool:
    """Tuples and lists, and the arrays of the runtime library."""
    if value.__class__ is tuple:  # asking by the abstract class takes ten times as long
        return True
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def save_json(node: Any) -> str:
    """`node` as JSON text; `load_json` gives it back."""
    return json.dumps(Writer().save(as_object(node)), indent=2, allow_nan=False)


class Reader:
    def __init__(self, apart: Sequence[Any] = ()) -> None:
        self.apart = apart
        self.made: list[Any] = []
        self.global_vars: dict[str, GlobalVar] = {}

    def load(self, graph: Any) -> Any:
        if not isinstance(graph, dict) or not {"root", "nodes"} <= graph.keys():
            raise _refuse("an object with root and nodes", type(graph).__name__)
        if graph.get("version", VERSION) > VERSION:
            raise _refuse(f"version {VERSION} or older", f"version {graph['version']}")
        for entry in graph["nodes"]:
            if not isinstance(entry, dict) or not isinstance(entry.get("data"), dict):
                raise _refuse("a node with type and data", repr(entry)[:80])
            self.made.append(self._node(str(entry.get("type")), entry["data"]))
        return self.decode(graph["root"])

    def _node(self, type_key: str, data: dict[str, Any]) -> Node:
        try:
            cls = NODE_TYPES.get(type_key)
        except KeyError as err:
            raise _refuse("a known node type", str(err.args[0])) from None
        values = {name: self.decode(value) for name, value in data.items()}
        try:
            return cls.from_fields(values)
        except TVMError:
            raise
        except _MISFITS as err:
            raise _refuse(f"the fields of {type_key}", str(err)) from err

    def decode(self, value: Any) -> Any:
        if not isinstance(value, dict):
            if isinstance(value, list):
                raise _refuse("plain data or a tagged object", "a list")
            return value
        kind = value.get("$")
        if kind == "node":
            at = value.get("at")
            if not isinstance(at, int) or not 0 <= at < len(self.made):
                raise _refuse("the number of an earlier node", repr(at))
            return self.made[at]
        if kind == "tuple":
            return tuple(self.decode(item) for item in value["items"])
        if kind == "shape":
            shape = get_global_func("ffi.Shape")
            return shape(*[int(item) for item in value["items"]])
        if kind == "map":
            items = [(self.decode(key), self.decode(item)) for key, item in value["items"]]
            return FrozenMap(items)
        if kind == "dtype":
            return DataType(str(value["name"]))
        if kind == "float":
            return float(value["value"])
        if kind == "tensor":
            return self._tensor(value)
        if kind == "module":
            return self._module(value)
        raise _refuse("node, tuple, shape, map, dtype, float, tensor or module", repr(kind))

    def _tensor(self, value: dict[str, Any]) -> HostTensor:
        import numpy as np

        name = str(value["dtype"])
        if not hasattr(np, name) and name != "bool":
            import ml_dtypes

            dtype = np.dtype(getattr(ml_dtypes, name))
        else:
            dtype = np.dtype(name)
        if "at" in value:
            raw = self.apart[value["at"]]
        else:
            raw = base64.b64decode(value["data"], validate=True)
        return HostTensor(np.frombuffer(raw, dtype).reshape(value["shape"]))

    def _module(self, value: dict[str, Any]) -> Any:
        kind = str(value.get("kind"))
        load = get_global_func(f"ffi.Module.load_from_bytes.{kind}", allow_missing=True)
        if load is None:
            raise _refuse("a module whose kind can be loaded from bytes", repr(kind))
        module = load(base64.b64decode(value["data"], validate=True))
        for imported in value["imports"]:
            module.import_module(self.decode(imported))
        return module




def _refuse(legal: str, found: str) -> JSONError:
    return JSONError(message("load_json: not a saved program", found=found, legal=legal))


def load_json(json_str: str) -> Any:
    """The node that `save_json` wrote; a JSONError says what is wrong with any other text."""
    try:
        graph = from_json(json_str)
    except ValueError as err:
        raise _refuse("JSON text", str(err)) from None
    if is_older(graph):
        graph = upgrade(graph)
    if isinstance(graph, dict) and "root_index" in graph:
        return load_graph(graph)
    try:
        return Reader().load(graph)
    except TVMError:
        raise
    except _MISFITS as err:
        raise _refuse("what `save_json` writes", f"{type(err).__name__}: {err}") from err
