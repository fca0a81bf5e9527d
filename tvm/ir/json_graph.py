"""Programs that the original saved: graphs of reflected objects, read into our nodes.

    {"root_index": 3, "nodes": [{"type": "ir.IntImm", "data": {"dtype": "int32", "value": 1}}, ...],
     "metadata": {"tvm_version": "0.22.0"}}

A field of a plain type (`dtype`, `For.kind`, `IntImm.value`) stands there itself, any other one as
the number of its node. Strings, arrays and maps are nodes, too. `json_older` brings graphs of
versions before 0.22 to this form.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tvm.error import TVMError, message
from tvm.support.dtype import BFLOAT, BOOL, FLOAT, INT, UINT
from tvm.support.frozen import FrozenMap

from .host_tensor import HostTensor
from .node import NODE_TYPES
from .op import Op

_TENSOR_MAGIC: Final = 0xDD5E40F096B4A13F
_VALUES: Final = ("bool", "int", "float", "DataType", "ffi.String", "ffi.SmallStr")
# Fields that are no references, whichever node has them, and those of single nodes.
_PLAIN: Final = frozenset(
    ("dtype", "line", "column", "end_line", "end_column", "ndim", "data_alignment",
     "offset_factor", "buffer_type", "iter_type", "value_index", "is_pure", "purity",
     "vdevice_id", "out_dtype", "keepdims")
)  # fmt: skip
_PLAIN_OF: Final[dict[str, frozenset[str]]] = {
    "ir.IntImm": frozenset(("value",)),
    "ir.FloatImm": frozenset(("value",)),
    "relax.expr.DataTypeImm": frozenset(("value",)),
    "relax.expr.TupleGetItem": frozenset(("index",)),
    "tir.For": frozenset(("kind",)),
    "relay.TypeVar": frozenset(("kind",)),
    "relay.GlobalTypeVar": frozenset(("kind",)),
    "relay.IncompleteType": frozenset(("kind",)),
    "relay.TupleGetItem": frozenset(("index",)),
    "relay.Match": frozenset(("complete",)),
    "relay.Constructor": frozenset(("tag",)),
    "arith.ConstIntBound": frozenset(("min_value", "max_value")),
    "arith.ModularSet": frozenset(("coeff", "base")),
}
# Integers among the attributes of operators. Those that may be missing are references.
_PLAIN_ATTRS: Final = frozenset(
    ("groups", "depth", "k", "num_groups", "channel_axis", "ignore_index", "batch_dims",
     "upscale_factor", "num_channels", "num_workers", "axis")
)  # fmt: skip
_OPTIONAL_AXIS: Final = frozenset(
    ("Concat", "Take", "Scanop", "Repeat", "ArgmaxArgmin", "Stack", "Flip", "TakeBackward",
     "Squeeze", "ExpandDims", "Statistical", "LayerNorm", "RMSNorm", "GroupNorm", "InstanceNorm")
)  # fmt: skip
_BUFFER_TYPES: Final = {1: "", 2: "auto_broadcast"}
# What the nodes here keep elsewhere, or not at all.
_UNUSED: Final = frozenset(("source_map", "features"))


class JSONError(TVMError, ValueError):
    """A text that is not a saved program."""


class GraphReader:
    """Makes the objects of a graph, each once, and only those that the root needs."""

    def __init__(self, nodes: Sequence[Any]) -> None:
        self._nodes = nodes
        self._made: dict[int, Any] = {}

    def load(self, root: int) -> Any:
        """The object with the number `root`."""
        stack = [self._checked(root)]
        waiting: set[int] = set()
        while stack:
            at = stack[-1]
            missing = [k for k in self._needs(at) if k not in self._made]
            if at in self._made or not missing:
                stack.pop()
                waiting.discard(at)
                if at not in self._made:
                    self._made[at] = self._make(at)
            elif at in waiting:
                raise refuse(f"node {at} contains itself", "a graph without cycles")
            else:
                waiting.add(at)
                stack.extend(reversed(missing))
        return self._made[root]

    def _checked(self, at: object) -> int:
        if isinstance(at, bool) or not isinstance(at, int) or not 0 <= at < len(self._nodes):
            raise refuse(repr(at), f"the number of a node, below {len(self._nodes)}")
        node = self._nodes[at]
        if not isinstance(node, dict) or not isinstance(node.get("type"), str):
            raise refuse(f"node {at}: {node!r}"[:100], "a node with its type")
        return at

    def _needs(self, at: int) -> list[int]:
        kind, data = self._nodes[at]["type"], self._nodes[at].get("data")
        if kind in ("ffi.Array", "ffi.Map"):
            if not isinstance(data, list):
                raise refuse(f"node {at}: {data!r}"[:100], "a list of numbers of nodes")
            found: Sequence[Any] = data
        elif isinstance(data, dict):
            found = list(_references(kind, data).values())
        else:
            found = ()
        return [self._checked(k) for k in found]

    def _make(self, at: int) -> Any:
        kind, data = self._nodes[at]["type"], self._nodes[at].get("data")
        if kind == "None":
            return None
        if kind in _VALUES:
            return data
        if kind == "ffi.Array":
            return tuple(self._made[k] for k in data)
        if kind == "ffi.Map":
            return FrozenMap((self._made[k], self._made[v]) for k, v in zip(data[::2], data[1::2]))
        special = _SPECIAL.get(kind)
        if special is not None and not isinstance(data, dict):
            return special(data)
        if not isinstance(data, dict):
            raise refuse(f"node {at}: {kind} with {data!r}"[:100], "an object with the fields")
        return self._node(kind, data)

    def _node(self, kind: str, data: Mapping[str, Any]) -> Any:
        values = {name: data[name] for name in data if name in _plain_fields(kind, data)}
        values.update({name: self._made[k] for name, k in _references(kind, data).items()})
        if kind == "target.TargetKind":
            return values["name"]
        if kind == "tir.Buffer":
            values["buffer_type"] = _BUFFER_TYPES.get(values.get("buffer_type", 1), "")
        try:
            return NODE_TYPES.get(kind).from_fields(values)
        except (TypeError, KeyError, AttributeError, ValueError) as err:
            raise refuse(f"{kind}: {err}", f"the fields of {kind}") from err


def _known_fields(kind: str) -> set[str]:
    if kind == "target.TargetKind":
        return {"name"}
    try:
        table = NODE_TYPES.get(kind).FIELDS
    except KeyError as err:
        raise refuse(str(err.args[0]), "a known type of node") from None
    return {field.name for field in table} - _UNUSED


def plain_names(kind: str) -> frozenset[str]:
    """The fields of a type that are no references although they hold whole numbers or texts."""
    if kind.startswith("relay.attrs."):
        return frozenset()  # graphs of versions with Relay say themselves what is a value
    plain = _PLAIN | _PLAIN_OF.get(kind, frozenset())
    if ".attrs." not in kind:
        return plain
    optional = kind.rsplit(".", 1)[1].removesuffix("Attrs") in _OPTIONAL_AXIS
    return plain | (_PLAIN_ATTRS - {"axis"} if optional else _PLAIN_ATTRS)


def _plain_fields(kind: str, data: Mapping[str, Any]) -> set[str]:
    """The fields that hold their value: by name, or because no number of a node looks like it."""
    plain, known = plain_names(kind), _known_fields(kind)
    return {
        name
        for name, value in data.items()
        if name in known and (name in plain or isinstance(value, bool) or type(value) is not int)
    }


def _references(kind: str, data: Mapping[str, Any]) -> dict[str, int]:
    plain, known = _plain_fields(kind, data), _known_fields(kind)
    return {name: k for name, k in data.items() if name in known and name not in plain}


def _tensor(data: object) -> HostTensor:
    """A constant: base64 of the layout of parameter files (dlpack's description, then bytes)."""
    import numpy as np

    try:
        raw = base64.b64decode(str(data), validate=True)
        magic, _, _, _, ndim, code, bits, _ = struct.unpack_from("<QQiiiBBH", raw)
        shape = struct.unpack_from(f"<{ndim}q", raw, 32)
        (nbytes,) = struct.unpack_from("<q", raw, 32 + 8 * ndim)
    except (binascii.Error, struct.error) as err:
        raise refuse(f"a tensor with {err}", "a tensor in base64") from err
    dtype = np.dtype(_element(code, bits))
    rest = raw[40 + 8 * ndim :]
    if magic != _TENSOR_MAGIC or nbytes != len(rest) or nbytes != math.prod(shape) * dtype.itemsize:
        raise refuse(f"{len(rest)} bytes for a tensor of shape {shape}", "a tensor in base64")
    return HostTensor(np.frombuffer(rest, dtype).reshape(shape))


def _element(code: int, bits: int) -> Any:
    if code == BOOL or (code, bits) == (UINT, 1):
        return "bool"
    if code == BFLOAT:
        import ml_dtypes

        return ml_dtypes.bfloat16
    names = {INT: "int", UINT: "uint", FLOAT: "float"}
    if code not in names or bits not in (8, 16, 32, 64):
        raise refuse(f"a tensor of type code {code}, {bits} bits", "a tensor of numpy's types")
    return f"{names[code]}{bits}"


def _named(kind: str) -> Callable[[Any], Any]:
    return lambda data: NODE_TYPES.get(kind).from_fields({"name": str(data)})


_SPECIAL: Final[dict[str, Callable[[Any], Any]]] = {
    "ir.Op": lambda data: Op.get(str(data)),
    "ir.EnvFunc": _named("ir.EnvFunc"),
    "ir.SourceName": _named("ir.SourceName"),
    "target.TargetKind": str,
    "ffi.Tensor": _tensor,
    "ffi.Shape": tuple,
    "ffi.Bytes": lambda data: base64.b64decode(str(data), validate=True),
    "Device": tuple,
}


def refuse(found: str, legal: str) -> JSONError:
    """What is wrong with a graph."""
    return JSONError(message("load_json: a saved graph", found=found, legal=legal))


def load_graph(graph: Mapping[str, Any]) -> Any:
    """The object of a graph of version 0.22."""
    if not isinstance(graph.get("nodes"), list):
        raise refuse(repr(graph.get("nodes"))[:80], "a list of nodes")
    root: Any = graph["root_index"]
    return GraphReader(graph["nodes"]).load(root)
