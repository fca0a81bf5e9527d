"""Graphs within a graph: branches, loops, and parts under another mode of torch's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tvm import tir
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Var
from tvm.relax.frontend.branches import either
from tvm.relax.loops import scan, while_loop
from tvm.relax.struct_info import ShapeExpr, ShapeStructInfo, TensorStructInfo
from tvm.tir.analysis import undefined_vars

from .base_fx_graph_translator import BaseFXGraphImporter, target_name
from .dtypes import dtype_name
from .flex_attention import flex_attention
from .symbols import Symbols
from .values import cast, tensor_of

if TYPE_CHECKING:
    from torch import fx


class InnerGraphs(BaseFXGraphImporter):
    """Converts the calls of graphs; `_run` converts what they hold."""

    def __init__(self) -> None:
        super().__init__()
        self._symbols = Symbols()
        # whether a graph of scalars is converted on tensors, whose extents torch has not noted
        self._spread = False

    def create_convert_map(self) -> dict[Any, Callable[[fx.Node], Any]]:
        """Operators by ATen's name, and the calls of graphs within the graph."""
        own: dict[Any, Callable[[fx.Node], Any]] = {
            "getitem": self._getitem,
            "wrap_with_set_grad_enabled": functools.partial(self._inlined, 1),
            "wrap_with_autocast": functools.partial(self._inlined, 4),
            "invoke_subgraph": self._invoked,
            "with_effects": self._with_effects,
            "cond": self._cond,
            "while_loop": self._while_loop,
            "scan": self._scan,
            "map_impl": self._map,
            "flex_attention": self._flex_attention,
        }
        return {**super().create_convert_map(), **own}

    def _run(self, module: Any) -> Any:
        """Convert the nodes of a graph whose placeholders have values; what it gives."""
        raise NotImplementedError

    def _call(self, module: Any, args: Sequence[Any]) -> Any:
        for node, value in zip(placeholders(module.graph), args):
            self.env[node] = value
        return self._run(module)

    def _inlined(self, place: int, node: fx.Node) -> Any:
        """A part of the graph under another mode of torch's."""
        module, *args = self._retrieve_args(node.args)[place:]
        return self._call(module, args)

    def _invoked(self, node: fx.Node) -> Any:
        module, _, *args = self._retrieve_args(node.args)
        return self._call(module, args)

    def _with_effects(self, node: fx.Node) -> Any:
        """An operator between two tokens: its results behind the token, which is no value."""
        _, target, *rest = node.args
        graph = node.graph
        with graph.inserting_before(node):
            plain = graph.call_function(target, tuple(rest), dict(node.kwargs))
        plain.meta = dict(node.meta)
        try:
            converter = self._find([target_name(plain)])
            assert converter is not None, "operators were checked before"
            found = converter(plain)
        finally:
            graph.erase_node(plain)
        return (None, *found) if isinstance(found, (tuple, list)) else (None, found)

    def _number(self, value: Any, known: Any) -> Any:
        """The integer in a tensor as a symbol."""
        bb = self.block_builder
        number = bb.emit(op.reshape(cast(bb, value, "int64"), [1]))
        shape = bb.emit(op.tensor_to_shape(number))
        self._symbols.know([known])
        extent = self._symbols.define([known])[0]
        bb.match_cast(shape, ShapeStructInfo([extent]))
        return self._symbols.extent(known)

    def _cond(self, node: fx.Node) -> Any:
        """A function with two branches; what is known not to be a tensor is in both the same."""
        chosen, on_true, on_false, *rest = self._retrieve_args(node.args)
        operands = list(rest[0]) if rest else []
        if isinstance(chosen, bool):
            return self._call(on_true if chosen else on_false, operands)
        bb = self.block_builder
        held = bb.normalize_argument(op.reshape(cast(bb, tensor_of(bb, chosen), "bool"), ()))
        values = [bb.normalize_argument(v) if isinstance(v, RelaxExpr) else v for v in operands]
        outer = [v for v in values if isinstance(v, Var)]
        kept: list[Any] = []

        def way(module: Any, around: Sequence[Any]) -> list[Any]:
            left = iter(around)
            given = [next(left) if isinstance(v, Var) else v for v in values]
            kept[:] = self._call(module, given)
            return [tensor_of(bb, value) for value in kept if value is not None]

        yes, no = (functools.partial(way, module) for module in (on_true, on_false))
        found = iter(either(bb, held, outer, yes, no, _symbols_in([operands])))
        infos = node.meta["val"]
        return tuple(
            None if old is None else self._shaped(next(found), info)
            for old, info in zip(kept, infos)
        )

    def _shaped(self, value: RelaxExpr, known: Any) -> Any:
        """A result of branches with the extents that torch has for it, or a number as a symbol."""
        bb = self.block_builder
        if not hasattr(known, "shape"):
            return self._number(value, known)
        info = value.struct_info
        assert isinstance(info, TensorStructInfo), "branches give tensors"
        if isinstance(info.shape, ShapeExpr):
            return value
        self._symbols.know(known.shape)
        return bb.match_cast(
            value, TensorStructInfo(self._symbols.define(known.shape), str(info.dtype))
        )

    def _while_loop(self, node: fx.Node) -> Any:
        """A function that calls itself; numbers of the state are tensors in it."""
        test, body, carried, *rest = self._retrieve_args(node.args)
        bb = self.block_builder
        state = [bb.normalize_argument(tensor_of(bb, value)) for value in carried]
        outer = [value for value in (rest[0] if rest else ()) if isinstance(value, Var)]

        def operands(state: Sequence[Any], around: Sequence[Any]) -> list[Any]:
            left = iter(around)
            given = rest[0] if rest else ()
            return [*state, *(next(left) if isinstance(v, Var) else v for v in given)]

        def holds(state: Sequence[Any], around: Sequence[Any]) -> RelaxExpr:
            found = self._call(test, operands(state, around))
            found = found[0] if isinstance(found, tuple) else found
            return op.reshape(cast(bb, tensor_of(bb, found), "bool"), ())

        def turn(state: Sequence[Any], around: Sequence[Any]) -> list[Any]:
            return [tensor_of(bb, value) for value in self._call(body, operands(state, around))]

        found = while_loop(bb, state, outer, holds, turn, _symbols_in(rest))
        return tuple(found)

    def _scan(self, node: fx.Node) -> Any:
        """A loop along the first axis; what its turns give is written into place."""
        combine, carried, along, *rest = self._retrieve_args(node.args)
        return self._scanned(node, combine, carried, along, rest)

    def _scanned(
        self, node: fx.Node, combine: Any, carried: Any, along: Any, rest: Sequence[Any]
    ) -> Any:
        bb = self.block_builder
        state = [bb.normalize_argument(tensor_of(bb, value)) for value in carried]
        given = list(rest[0]) if rest else []
        outer = [value for value in given if isinstance(value, RelaxExpr)]
        infos = self._rows_of(node, len(state))

        def turn(now: Any, slices: Any, around: Any) -> Any:
            left = iter(around)
            more = [next(left) if isinstance(v, RelaxExpr) else v for v in given]
            found = self._call(combine, [*now, *slices, *more])
            values = [bb.normalize_argument(tensor_of(bb, value)) for value in found]
            return values[: len(state)], values[len(state) :]

        last, rows = scan(bb, state, list(along), outer, turn, infos, _symbols_in(rest))
        return tuple([*last, *rows])

    def _map(self, node: fx.Node) -> Any:
        """A graph for each slice along the first axis: a loop without a state."""
        body, along, *rest = self._retrieve_args(node.args)
        return self._scanned(node, body, [], along, rest)

    def _flex_attention(self, node: fx.Node) -> Any:
        """Attention whose scores and mask graphs compute, each from places of one score.

        The mask by blocks only says which ones to leave out: what stays out is masked as well.
        """
        q, k, v, score, blocks, scale, _, *more = self._retrieve_args(node.args)
        around = [*more, (), ()][:2]

        def spread(module: Any, given: Sequence[Any], rest: Sequence[Any]) -> Any:
            outer, self._spread = self._spread, True
            try:
                return self._emitted(self._call(module, [*given, *rest]))
            finally:
                self._spread = outer

        changed = None if _gives_first(score) else functools.partial(spread, score, rest=around[0])
        mask = blocks[-1]
        kept = None if _gives_ones(mask) else functools.partial(spread, mask, rest=around[1])
        return flex_attention(self.block_builder, q, k, v, changed, kept, scale)

    def _rows_of(self, node: fx.Node, states: int) -> list[TensorStructInfo]:
        """What one turn gives, as torch noted it of the whole."""
        return [
            TensorStructInfo([*self._symbols.shape(one.shape[1:])], dtype_name(one.dtype))
            for one in node.meta["val"][states:]
        ]


def _symbols_in(values: Any) -> list[tir.Var]:
    """The symbols of sizes that a graph within the graph is given."""
    flat = [one for part in values for one in part]
    found = [v for one in flat if isinstance(one, PrimExpr) for v in undefined_vars(one)]
    return list(dict.fromkeys(found))


def has_inner_graphs(module: Any) -> bool:
    """Whether a graph calls graphs."""
    return any(hasattr(one, "graph") for one in module.modules() if one is not module)


def _gives_first(module: Any) -> bool:
    """Whether a graph gives its first value as it is."""
    first, *_, last = module.graph.nodes
    return last.args[0] is first


def _gives_ones(module: Any) -> bool:
    result = list(module.graph.nodes)[-1].args[0]
    return target_name(result) == "new_ones"


def placeholders(graph: Any) -> Iterator[Any]:
    """The nodes of a graph that stand for what it is given."""
    return (node for node in graph.nodes if node.op == "placeholder")
