"""Control flow: If, Loop, Scan, SequenceMap, and optional values.

What importing can decide is decided: a known condition leaves one branch, a loop with few turns
is written out. Everything else becomes branches, and functions that repeat (`repeat.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tvm import tir
from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    BindingBlock,
    Constant,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    Tuple,
    TupleGetItem,
)
from tvm.relax.extents import with_extents
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo
from tvm.relax.struct_info_rules import tir_vars_in_struct_info
from tvm.tir.analysis import undefined_vars
from tvm.tir.expr import IntImm

from .given import as_object, called, given, opened
from .graph import RanksDiffer, Subgraph, Way, branches
from .lists import is_open_list, joined, rows_of
from .node import Node
from .registry import AsDefined, Result, convert
from .repeat import RowsDiffer, repeat
from .scope import Ref, Scope

# Loops with more nodes than this, over all turns, are not written out.
LARGEST_UNROLLED = 512


# --- branches ---


@convert("If")
def if_(node: Node) -> Result:
    """One of two graphs; only the taken one when importing knows the condition."""
    known = node.known(0)
    graphs = node.graph("then_branch"), node.graph("else_branch")
    condition: RelaxExpr
    if known is None:
        condition = as_condition(node.bb, node[0])
    elif known.dtype == object:  # a comparison of sizes
        condition = PrimValue(known.reshape(-1)[0])
    else:
        return graphs[0 if bool(known.reshape(-1)[0]) else 1].read([])
    ways: list[Way] = [partial(_outputs, node.bb, graph) for graph in graphs]
    found = branches(node.bb, condition, ways)
    if callable(found):
        return graphs[ways.index(found)].read([])
    taken, other = found
    if node.reader.may_fork and (_ranks(taken) != _ranks(other) or -1 in _ranks(taken)):
        raise RanksDiffer(condition, graphs)
    value = node.bb.emit(If(condition, taken, other))
    if node.output_count == 1:
        return [with_extents(node.bb, value)]
    return [with_extents(node.bb, TupleGetItem(value, i)) for i in range(node.output_count)]


def _ranks(branch: SeqExpr) -> list[int | None]:
    """How many dimensions the outputs of a branch have."""
    info = branch.body.struct_info
    fields = info.fields if isinstance(info, TupleStructInfo) else (info,)
    return [field.ndim if isinstance(field, TensorStructInfo) else None for field in fields]


def as_condition(bb: BlockBuilder, value: RelaxExpr) -> RelaxExpr:
    """A truth value without dimensions."""
    info = value.struct_info
    if isinstance(info, TensorStructInfo) and info.ndim != 0:
        value = op.reshape(value, ())
    return bb.normalize_argument(value)


def _outputs(bb: BlockBuilder, graph: Subgraph) -> RelaxExpr:
    """The outputs of a graph; several are a tuple."""
    outputs = [ref.scope.read(ref.name, bb) for ref in graph.read([])]
    return outputs[0] if len(outputs) == 1 else Tuple(outputs)


# --- loops ---


@dataclass
class Turn:
    """What one turn of a loop gives: whether to go on, its state, and what is collected."""

    go_on: Ref | None
    state: list[Ref]
    collected: list[Ref]


# the number of the turn, the state before, the builder, the scope that graphs see
Body = Callable[[Ref, Sequence[Ref], BlockBuilder, Scope], Turn]


@convert("Loop")
def loop(node: Node) -> Result:
    """Turns while a condition holds and a count is not reached; values of turns are stacked."""
    graph = node.graph("body")
    states = len(node.inputs) - 2

    def body(number: Ref, state: Sequence[Ref], bb: BlockBuilder, around: Scope) -> Turn:
        yes = Ref.to(np.asarray(True))
        outputs = graph.read([number, yes, *state], bb, around)
        return Turn(outputs[0], outputs[1 : states + 1], outputs[states + 1 :])

    count = node.ref(0) if node.has(0) else None
    first = node.ref(1) if node.has(1) else None
    initial = [node.ref(2 + i) for i in range(states)]
    lists = [i for i in range(states) if graph.appends(2 + i, 1 + i)]
    turns = _Turns(node, graph, body, len(graph.outputs) - 1 - states, lists)
    state, collected = turns.run(count, first, initial)
    return [*state, *collected]


class _Turns:
    """A loop, written out as far as importing knows how it goes on, and repeated from there."""

    def __init__(
        self, node: Node, graph: Subgraph, body: Body, collects: int, lists: Sequence[int] = ()
    ) -> None:
        self.node = node
        self.bb = node.bb
        self.graph = graph
        self.body = body
        self.collects = collects
        self.lists = lists  # the state that only collects items in sequences
        self.lengthens = 0  # how many of what is collected last are such items

    def run(
        self, count: Ref | None, go_on: Ref | None, state: list[Ref]
    ) -> tuple[list[Ref], list[Ref]]:
        """The state at the end, and what was collected, stacked along a new first axis."""
        number = 0
        known = None if count is None else count.known
        total = None if known is None or known.dtype == object else int(known.reshape(-1)[0])
        seen: list[list[Ref]] = [[] for _ in range(self.collects)]
        while True:
            if go_on is not None and go_on.holds is False:
                break
            if total is not None and number >= total:
                break
            if not self._is_written_out(number, count, total, go_on, state):
                state, rest = self._repeated(number, count, go_on, state)
                parts = [*([self._stacked(one)] if one else [] for one in seen)]
                return state, [
                    Ref.to(self.bb.emit(op.concat([*before, value], 0))) if before
                    else Ref.to(value)
                    for before, value in zip(parts, rest)
                ]  # fmt: skip
            turn = self.body(Ref.to(np.asarray(number, np.int64)), state, self.bb, self.node.scope)
            go_on, state = turn.go_on, turn.state
            for values, value in zip(seen, turn.collected):
                values.append(value)
            number += 1
        return state, [
            Ref.to(self._stacked(one)) if one else Ref.to(self._nothing(state, i))
            for i, one in enumerate(seen)
        ]

    def _repeated(
        self, number: int, count: Ref | None, go_on: Ref | None, state: list[Ref]
    ) -> tuple[list[Ref], list[RelaxExpr]]:
        """The turns from `number` on; sequences that only grow are collected, too."""
        lists = [i for i in self.lists if not self._is_object(state[i])]
        state = [ref if i in lists else self._as_object(ref) for i, ref in enumerate(state)]
        if not lists:
            return repeat(self, number, count, go_on, state)
        try:
            return self._collecting(lists, number, count, go_on, state)
        except RowsDiffer as ragged:
            self.lists = [i for at, i in enumerate(lists) if at not in ragged.places]
            return self._repeated(number, count, go_on, state)

    def _is_object(self, ref: Ref) -> bool:
        return _made(self.bb, ref) in self.node.reader.given

    def _as_object(self, ref: Ref) -> Ref:
        """A sequence that turns change in other ways than at its end, as an object."""
        value = _made(self.bb, ref)
        if not isinstance(value.struct_info, TupleStructInfo) or is_open_list(value):
            return ref
        found = opened(self.node, value)
        return ref if found is None else Ref.to(found[0])

    def _collecting(
        self, lists: Sequence[int], number: int, count: Ref | None, go_on: Ref | None,
        state: list[Ref],
    ) -> tuple[list[Ref], list[RelaxExpr]]:  # fmt: skip
        """The same, where sequences in these places only grow: they are collected, too."""

        def body(number: Ref, kept: Sequence[Ref], bb: BlockBuilder, around: Scope) -> Turn:
            rest = iter(kept)
            nothing = Ref.to(bb.normalize(Tuple([])))
            given = [nothing if i in lists else next(rest) for i in range(len(state))]
            turn = self.body(number, given, bb, around)
            made = [_made(bb, turn.state[i]) for i in lists]
            items = [Ref.to(bb.emit(TupleGetItem(one, 0))) for one in made]
            after = [ref for i, ref in enumerate(turn.state) if i not in lists]
            return Turn(turn.go_on, after, [*turn.collected, *items])

        inner = _Turns(self.node, self.graph, body, self.collects + len(lists))
        inner.lengthens = len(lists)
        kept = [ref for i, ref in enumerate(state) if i not in lists]
        after, collected = repeat(inner, number, count, go_on, kept)
        left = iter(after)
        whole = [state[i] if i in lists else next(left) for i in range(len(state))]
        for i, rows in zip(lists, collected[self.collects :]):
            parts = [rows_of(self.bb, _made(self.bb, state[i])), rows]
            whole[i] = Ref.to(joined(self.bb, parts))
        return whole, collected[: self.collects]

    def _is_written_out(
        self, number: int, count: Ref | None, total: int | None, go_on: Ref | None,
        state: Sequence[Ref],
    ) -> bool:  # fmt: skip
        if go_on is not None and go_on.holds is None:
            return False
        if (number + 1) * self.graph.size() > LARGEST_UNROLLED or (count and total is None):
            return False
        if total is not None and total * self.graph.size() > LARGEST_UNROLLED:
            return False
        return number > 0 or self._tells_its_end(state)

    def _tells_its_end(self, state: Sequence[Ref]) -> bool:
        """Whether importing knows after a turn if there is another; the turn is made aside."""
        aside = BlockBuilder()
        with scratch(aside):
            first = Ref.to(np.asarray(0, np.int64))
            turn = self.body(first, state, aside, self.node.scope)
        return turn.go_on is None or turn.go_on.holds is not None

    def _stacked(self, values: Sequence[Ref]) -> RelaxExpr:
        made = [value.scope.read(value.name, self.bb) for value in values]
        return self.bb.emit(op.stack([self.bb.normalize_argument(v) for v in made], 0))

    def _nothing(self, state: Sequence[Ref], i: int) -> RelaxExpr:
        """What is collected over no turn: the shape is that of a turn that is made aside.

        Extents that only the turn itself tells as it runs are 0.
        """
        aside = BlockBuilder()
        aside.begin_binding_block()
        first = Ref.to(np.asarray(0, np.int64))
        turn = self.body(first, state, aside, self.node.scope)
        found = turn.collected[i]
        info = found.scope.read(found.name, aside).struct_info
        told = _symbols_of_casts(aside.end_block()) - self._symbols_around(state)
        assert isinstance(info, TensorStructInfo), "tensors are collected"
        if info.shape is None:
            raise self.node.invalid("the body", f"an output {info}", "outputs of known shapes")
        values = info.shape.values  # type: ignore[attr-defined]
        shape = [0 if told.intersection(undefined_vars(e)) else e for e in values]
        return self.bb.emit(op.zeros((0, *shape), info.dtype))

    def _symbols_around(self, state: Sequence[Ref]) -> set[tir.Var]:
        """The symbols of what a turn is given and reads."""
        made = [ref.scope.made(ref.name) for ref in state]
        made += [self.node.scope.made(name) for name in self.graph.free_names()]
        infos = [value.struct_info for value in made if value is not None]
        return {symbol for info in infos for symbol in tir_vars_in_struct_info(info)}


def _symbols_of_casts(block: BindingBlock) -> set[tir.Var]:
    """The symbols that casts of a block may define."""
    casts = [binding for binding in block.bindings if isinstance(binding, MatchCast)]
    return {symbol for cast in casts for symbol in tir_vars_in_struct_info(cast.struct_info)}


class scratch:
    """`with scratch(bb)`: what is emitted within is thrown away."""

    def __init__(self, bb: BlockBuilder) -> None:
        self._bb = bb

    def __enter__(self) -> None:
        self._bb.begin_binding_block()

    def __exit__(self, *_: object) -> None:
        self._bb.end_block()


@convert("Scan")
def scan_with_batch(node: Node) -> Result:
    """The first form, with a batch and lengths of sequences."""
    if node.has(0):
        raise node.invalid("sequence_lens", "given", "whole sequences")
    graph = node.graph("body")
    scanned = int(node.required("num_scan_inputs"))
    ways = node.attr("directions", [0] * scanned)
    outer = len(node.inputs) - 1 - scanned
    size = _number_of(node, node.shape(1)[0], "batch")
    each = []
    for k in range(size):
        row = [Ref.to(_picked(node.bb, node[1 + i], 0, k)) for i in range(outer + scanned)]
        plan = _ScanPlan(node, graph, row, scanned, [0] * scanned, ways, [], [])
        each.append(plan.run())
    return [
        node.bb.emit(op.stack([node.bb.normalize_argument(_made(node.bb, one[i])) for one in each]))
        for i in range(node.output_count)
    ]


@convert("Scan", since=9)
def scan(node: Node) -> Result:
    """A loop over slices of the last inputs; the outputs of its turns are stacked."""
    graph = node.graph("body")
    scanned = int(node.required("num_scan_inputs"))
    inputs = [node.ref(i) for i in range(len(node.inputs))]
    plan = _ScanPlan(
        node, graph, inputs, scanned,
        node.attr("scan_input_axes", [0] * scanned),
        node.attr("scan_input_directions", [0] * scanned),
        node.attr("scan_output_axes", []), node.attr("scan_output_directions", []),
    )  # fmt: skip
    return plan.run()


class _ScanPlan:
    """A Scan node: its state, what it goes along, and how its outputs lie."""

    def __init__(
        self, node: Node, graph: Subgraph, inputs: Sequence[Ref], scanned: int,
        axes: Sequence[int], ways: Sequence[int], out_axes: Sequence[int], out_ways: Sequence[int],
    ) -> None:  # fmt: skip
        self.node, self.bb, self.graph = node, node.bb, graph
        self.states = len(inputs) - scanned
        self.initial = list(inputs[: self.states])
        self.along = [self._forward(ref, axis, way)
                      for ref, axis, way in zip(inputs[self.states :], axes, ways)]  # fmt: skip
        self.collects = len(graph.outputs) - self.states
        self.out_axes = list(out_axes) or [0] * self.collects
        self.out_ways = list(out_ways) or [0] * self.collects

    def _forward(self, ref: Ref, axis: int, way: int) -> RelaxExpr:
        """An input with the axis that is gone along in front, in the order of the turns."""
        value = _made(self.bb, ref)
        info = value.struct_info
        assert isinstance(info, TensorStructInfo), "tensors are scanned"
        rank, axis = info.ndim, int(axis)
        axis = axis + rank if axis < 0 else axis
        if axis:
            rest = [a for a in range(rank) if a != axis]
            value = self.bb.emit(op.permute_dims(value, [axis, *rest]))
        return self.bb.emit(op.flip(value, 0)) if way else value

    def run(self) -> list[Ref]:
        """The state at the end, and the outputs."""
        extent = self.along[0].struct_info.shape.values[0]  # type: ignore[attr-defined]

        def body(number: Ref, state: Sequence[Ref], bb: BlockBuilder, around: Scope) -> Turn:
            slices = [Ref.to(self._slice(bb, around, i, number)) for i in range(len(self.along))]
            outputs = self.graph.read([*state, *slices], bb, around)
            return Turn(None, outputs[: self.states], outputs[self.states :])

        turns = _Turns(self.node, self.graph, body, self.collects)
        if isinstance(extent, IntImm):
            count = Ref.to(np.asarray(extent.value, np.int64))
        else:
            count = Ref.to(np.array(extent, object))
        for i, value in enumerate(self.along):
            self.node.scope.bind(self._name(i), value)
        state, collected = turns.run(count, None, self.initial)
        return [*state, *(self._placed(ref, i) for i, ref in enumerate(collected))]

    def _name(self, i: int) -> str:
        return f"{self.node.name}/scanned/{i}"

    def free_names(self) -> list[str]:
        return [self._name(i) for i in range(len(self.along))]

    def _slice(self, bb: BlockBuilder, around: Scope, i: int, number: Ref) -> RelaxExpr:
        value = around.read(self._name(i), bb)
        known = number.known
        if known is not None and known.dtype != object:
            return _picked(bb, value, 0, int(known))
        return bb.emit(op.take(value, number.scope.read(number.name, bb), 0))

    def _placed(self, ref: Ref, i: int) -> Ref:
        """A stack of outputs with its new axis where it is wanted."""
        value = _made(self.bb, ref)
        axis = int(self.out_axes[i])
        if self.out_ways[i]:
            value = self.bb.emit(op.flip(value, 0))
        if not axis:
            return Ref.to(value)
        rank = value.struct_info.ndim  # type: ignore[attr-defined]
        order = list(range(1, rank))
        order.insert(axis + rank if axis < 0 else axis, 0)
        return Ref.to(self.bb.emit(op.permute_dims(value, order)))


def _made(bb: BlockBuilder, ref: Ref) -> RelaxExpr:
    return ref.scope.read(ref.name, bb)


def _picked(bb: BlockBuilder, value: RelaxExpr, axis: int, place: int) -> RelaxExpr:
    """One slice, at a place that is a number."""
    return bb.emit(op.take(value, Constant(np.asarray(place, np.int64)), axis))


def _number_of(node: Node, extent: Any, what: str) -> int:
    if not isinstance(extent, IntImm):
        raise node.invalid(what, str(extent), "a number")
    return extent.value


# --- sequences and optional values ---


@convert("SequenceMap", since=17)
def sequence_map(node: Node) -> Result:
    """A graph for each element of sequences; other inputs are the same each time."""
    if given(node) is not None:
        raise AsDefined  # a loop
    graph = node.graph("body")
    inputs = [node[i] for i in range(len(node.inputs))]
    fields = [value.struct_info for value in inputs]
    first = fields[0]
    if not isinstance(first, TupleStructInfo):
        raise node.invalid("input number 0", "a tensor", "a sequence")
    rows: list[list[RelaxExpr]] = [[] for _ in range(node.output_count)]
    for k in range(len(first.fields)):
        values = [
            Ref.to(node.bb.emit(TupleGetItem(value, k)) if isinstance(info, TupleStructInfo)
                   else value)
            for value, info in zip(inputs, fields)
        ]  # fmt: skip
        for row, ref in zip(rows, graph.read(values)):
            row.append(_made(node.bb, ref))
    return [Tuple(row) for row in rows]


@convert("Optional", since=15)
def optional(node: Node) -> Result:
    """A value, or (without an input) none: a tuple of nothing."""
    return [node.ref(0)] if node.has(0) else [Tuple([])]


@convert("OptionalGetElement", since=15)
def optional_get_element(node: Node) -> Result:
    if (held := given(node)) is not None and held.optional:
        inner = replace(held, optional=False)
        if held.is_sequence:
            return as_object(node, "optional_get_element", inner, node[0])
        return called(node, "optional_get_element", node[0], info=held.item)
    if _is_nothing(node[0]):
        raise node.invalid("input number 0", "an optional value that is none", "one that is there")
    return [node.ref(0)]


@convert("OptionalHasElement", since=15)
def optional_has_element(node: Node) -> Result:
    held = given(node) if node.has(0) else None
    if held is not None and held.optional:
        info = TensorStructInfo([], "bool")
        return called(node, "optional_has_element", node[0], info=info)
    there = node.has(0) and not _is_nothing(node[0])
    return [Ref.to(np.asarray(there))]


def _is_nothing(value: RelaxExpr) -> bool:
    info = value.struct_info
    return isinstance(info, TupleStructInfo) and not info.fields
