"""What parsers tell plotters: nodes, and edges between them."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any, Final

from tvm.ir.attrs import DictAttrs
from tvm.ir.expr import GlobalVar
from tvm.ir.op import Op
from tvm.relay.adt import Constructor, Match
from tvm.relay.expr import (
    Call,
    Constant,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from tvm.relay.function import Function
from tvm.relay.traverse import children
from tvm.relay.ty import TensorType

UNKNOWN_TYPE: Final = "unknown"


class VizNode:
    """An expression: its number, a word for what it is, and details."""

    def __init__(self, node_id: str, node_type: str, node_detail: str) -> None:
        self._id, self._type, self._detail = node_id, node_type, node_detail

    @property
    def identity(self) -> str:
        """The number."""
        return self._id

    @property
    def type_name(self) -> str:
        """What it is."""
        return self._type

    @property
    def detail(self) -> str:
        """Details, a line each."""
        return self._detail

    def __repr__(self) -> str:
        detail = self._detail.replace("\n", ", ")
        return f"VizNode(identity: {self._id}, type_name: {self._type}, detail: {detail})"


class VizEdge:
    """From what is read to what reads it."""

    def __init__(self, start_node: str, end_node: str) -> None:
        self._start, self._end = start_node, end_node

    @property
    def start(self) -> str:
        """The number of what is read."""
        return self._start

    @property
    def end(self) -> str:
        """The number of what reads."""
        return self._end


class VizParser(abc.ABC):
    """Says what is shown of an expression."""

    @abc.abstractmethod
    def get_node_edges(
        self, node: Any, relay_param: Mapping[str, Any], node_to_id: Mapping[Any, str]
    ) -> tuple[VizNode | None, list[VizEdge]]:
        """The node of an expression, None for one that is not shown, and the edges to it."""


class VizGraph(abc.ABC):
    """A drawing of one function."""

    @abc.abstractmethod
    def node(self, viz_node: VizNode) -> None:
        """Add a node."""

    @abc.abstractmethod
    def edge(self, viz_edge: VizEdge) -> None:
        """Add an edge."""


class Plotter(abc.ABC):
    """Makes drawings, and shows them."""

    @abc.abstractmethod
    def create_graph(self, name: str) -> VizGraph:
        """A drawing for the function of this name."""

    @abc.abstractmethod
    def render(self, filename: str | None) -> None:
        """Show the drawings, or write them to a file."""


class DefaultVizParser(VizParser):
    """Names, shapes, data types and options; operators stand in their calls."""

    def get_node_edges(
        self, node: Any, relay_param: Mapping[str, Any], node_to_id: Mapping[Any, str]
    ) -> tuple[VizNode | None, list[VizEdge]]:
        """The node of an expression; operators and constructors have none."""
        if isinstance(node, (Op, Constructor)):
            return None, []
        kind, detail = _told(node, relay_param)
        own = node_to_id[node]
        read = [part for part in _read(node) if part in node_to_id]
        shown = [part for part in read if not isinstance(part, (Op, Constructor))]
        return VizNode(own, kind, detail), [VizEdge(node_to_id[part], own) for part in shown]


def _read(node: Any) -> list[Any]:
    if isinstance(node, Function):
        return [node.body]
    parts: list[Any] = list(children(node))
    return parts


def _told(node: Any, params: Mapping[str, Any]) -> tuple[str, str]:
    if isinstance(node, Call):
        called = node.op
        if isinstance(called, (Op, Constructor)):
            name = called.name if isinstance(called, Op) else called.name_hint
            return f"Call {name}", _options(node.attrs)
        if isinstance(called, GlobalVar):
            return f"Call @{called.name_hint}", _options(node.attrs)
        return "Call", _options(node.attrs)
    rule = _RULES.get(type(node))
    return (UNKNOWN_TYPE, type(node).__name__) if rule is None else rule(node, params)


def _var(node: Var, params: Mapping[str, Any]) -> tuple[str, str]:
    kind = "Var(Param)" if node.name_hint in params else "Var(Input)"
    return kind, "\n".join([f"name_hint: {node.name_hint}", *_tensor(node.type_annotation)])


def _tensor(found: Any) -> list[str]:
    if not isinstance(found, TensorType):
        return [] if found is None else [f"type: {found}"]
    return [f"shape: {tuple(found.concrete_shape)}" if _known(found) else f"shape: {found.shape}",
            f"dtype: {found.dtype}"]  # fmt: skip


def _known(found: TensorType) -> bool:
    return all(hasattr(extent, "value") for extent in found.shape)


def _function(node: Function, params: Mapping[str, Any]) -> tuple[str, str]:
    names = [f"params: {', '.join(p.name_hint for p in node.params)}"]
    return "Func", "\n".join(names + [line for line in _options(node.attrs).split("\n") if line])


def _options(attrs: Any) -> str:
    if attrs is None:
        return ""
    items = attrs.items() if isinstance(attrs, DictAttrs) or hasattr(attrs, "items") else ()
    return "\n".join(f"{name}: {value}" for name, value in items)


def _constant(node: Constant, params: Mapping[str, Any]) -> tuple[str, str]:
    data = node.data
    shape = tuple(int(extent) for extent in data.shape)
    return "Const", f"shape: {shape}\ndtype: {data.dtype}"


_RULES: Final[dict[type, Callable[[Any, Mapping[str, Any]], tuple[str, str]]]] = {
    Var: _var,
    Function: _function,
    Constant: _constant,
    GlobalVar: lambda node, params: ("GlobalVar", f"name_hint: {node.name_hint}"),
    Tuple: lambda node, params: ("Tuple", f"fields: {len(node.fields)}"),
    TupleGetItem: lambda node, params: ("TupleGetItem", f"idx: {node.index}"),
    Let: lambda node, params: ("Let", f"var: {node.var.name_hint}"),
    If: lambda node, params: ("If", ""),
    Match: lambda node, params: ("Match", f"clauses: {len(node.clauses)}"),
    RefCreate: lambda node, params: ("RefCreate", ""),
    RefRead: lambda node, params: ("RefRead", ""),
    RefWrite: lambda node, params: ("RefWrite", ""),
}
