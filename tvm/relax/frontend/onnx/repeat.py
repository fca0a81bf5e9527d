"""Loops whose turns importing cannot write out: a function that ends by calling itself.

    repeat(go, number, state..., rows...):
        if go:   one turn; repeat(whether to go on, number + 1, the next state..., rows...)
        else:    (go, number, state..., rows...)

What turns collect is written into rows that are there from the start, in place, where the number
of turns and the extents of a row are known before; other rows are put together one by one. Extents
that change from turn to turn become symbols of the function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tvm import tir
from tvm.arith import Analyzer
from tvm.error import message
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr, StructInfo
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Constant, PrimValue, TupleGetItem, Var
from tvm.relax.extents import fresh_extent
from tvm.relax.loops import repeated, written_row
from tvm.relax.op.builtin import alloc_tensor
from tvm.relax.struct_info import (
    ObjectStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tvm.relax.struct_info_rules import tir_vars_in_struct_info
from tvm.tir.analysis import undefined_vars
from tvm.tir.expr import IntImm

from .counted import Probe, Roles, is_inside, limit_of, outside
from .scope import Ref, Scope

if TYPE_CHECKING:
    from .control import _Turns
    from .given import Given

# More room than this is not taken ahead for turns that may not come: bytes.
_LARGEST_GUESS = 2**24


def repeat(
    turns: _Turns, number: int, count: Ref | None, go_on: Ref | None, state: Sequence[Ref]
) -> tuple[list[Ref], list[RelaxExpr]]:
    """The state after the turns from `number` on, and what they collected, stacked."""
    loop = _Loop(turns, count, state)
    return loop.run(number, go_on)


class RowsDiffer(Exception):
    """What a turn puts at the end of a sequence has other extents than what the last one did."""

    def __init__(self, places: Sequence[int]) -> None:
        super().__init__("items of several extents")
        self.places = places


class _Loop:
    def __init__(self, turns: _Turns, count: Ref | None, state: Sequence[Ref]) -> None:
        self.turns, self.bb, self.scope = turns, turns.bb, turns.node.scope
        self.count = None if count is None else self._limit(count)
        self.before = list(state)
        self.given = turns.node.reader.given  # what objects hold
        self.roles = Roles()
        self.limit = None if count is None else count.known
        self.exact = False  # the count tells all that the condition says
        self.may_stop = False  # before the count is reached
        self.rows: tir.PrimExpr | None = None  # how many there are room for
        self._carry()

    def _carry(self) -> None:
        """The state that turns hand on."""
        carried = [ref for i, ref in enumerate(self.before) if self.roles.is_carried(i)]
        self.initial = [self._operand(ref.scope.read(ref.name, self.bb)) for ref in carried]
        self.states = len(carried)
        self.infos = [value.struct_info for value in self.initial]
        self.held = [self.given.get(value) for value in self.initial]
        self.captured = self._captured()

    def run(self, number: int, go_on: Ref | None) -> tuple[list[Ref], list[RelaxExpr]]:
        go_on = self._look(number, go_on)
        self.may_stop = go_on is not None
        self._settle(number)
        self._refuse_ragged()
        if self._make_room(number):
            self.captured = self._captured()  # the number of rows may be one more symbol
            self._settle(number)
        first = Constant(np.asarray(number, np.int64))
        go: RelaxExpr = Constant(np.asarray(True))
        if go_on is not None:
            go = _scalar(self.bb, go_on.scope.read(go_on.name, self.bb))
        if self.count is not None:
            go = self._operand(op.logical_and(go, op.less(first, self.count)))
        repeat_var = self._repeat(number)
        value = self.bb.emit(Call(repeat_var, [go, first, *self.initial, *self.captured.values()]))
        results = self._unpacked(value)
        state = self._state(results, number)
        collected = results[self.states + 1 :]
        if self.rows is not None and self.may_stop:
            collected = self._those_made(results[0], number, collected)
        return state, collected

    # --- what need not be carried ---

    def _look(self, number: int, go_on: Ref | None) -> Ref | None:
        """Make a turn aside, and see what its state does; gives what is left of the condition."""
        aside = BlockBuilder()
        params, around = self._params()
        probes = [Probe(ref, value.struct_info) for ref, value in zip(self.before, self.initial)]
        for probe, value in zip(probes, self.initial):
            self._note(probe.var, self.given.get(value))
        counted = Var("number", TensorStructInfo((), "int64"))
        aside.begin_scope([counted, *(probe.var for probe in probes), *params])
        aside.begin_binding_block()
        turn = self.turns.body(
            _counted(aside, counted), [probe.ref for probe in probes], aside, around
        )
        for i, (probe, after) in enumerate(zip(probes, turn.state)):
            before = probe.before
            if before.scope.is_text(before.name):
                continue
            if probe.stays(after):
                self.roles.stays[i] = before
            elif (counter := probe.counter(after)) is not None:
                self.roles.counters[i] = counter
        if self.roles.stays or self.roles.counters:
            self._carry()
        if self.count is not None and self.limit is None:
            return go_on
        return self._bound(number, go_on)

    def _bound(self, number: int, go_on: Ref | None) -> Ref | None:
        """Make the condition a count, if it compares the number of the turn with what stays."""
        aside = BlockBuilder()
        params, around = self._params()
        state = self._state_vars()
        counted = Var("number", TensorStructInfo((), "int64"))
        aside.begin_scope([counted, *state, *params])
        aside.begin_binding_block()
        told = _counted(aside, counted)
        given = self._given(aside, told, counted, state, around, number)
        turn = self.turns.body(told, given, aside, around)
        known: Any = told.known
        limit = limit_of(turn.go_on, known.reshape(-1)[0], number, go_on)
        if limit is None:
            return go_on
        if self.limit is not None:
            own = self.limit.reshape(-1)[0]
            own = own if isinstance(own, PrimExpr) else tir.const(int(own), "int64")
            limit = Analyzer().simplify(tir.min(own, limit))
        self.limit = np.empty((), object)
        self.limit[()] = limit
        if isinstance(limit, IntImm):
            self.limit = np.asarray(limit.value, np.int64)
        ref = Ref(Scope({}), "")
        ref.scope.known.set("", self.limit)
        self.count, self.exact = self._limit(ref), True
        self.captured = self._captured()
        return None

    def _given(
        self, bb: BlockBuilder, told: Ref, number: RelaxExpr, carried: Sequence[RelaxExpr],
        around: Scope, first: int,
    ) -> list[Ref]:  # fmt: skip
        """All the state of a turn, by what is carried and by the number of the turn."""
        left = iter(carried)
        found: list[Ref] = []
        for i, before in enumerate(self.before):
            if i in self.roles.stays:
                found.append(outside(before, _name(i), around))
            elif i in self.roles.counters:
                counter = self.roles.counters[i]
                known: Any = told.known
                ref = Ref(Scope({}), "")
                if isinstance(counter.start, int):
                    turns = op.subtract(number, Constant(np.asarray(first, np.int64)))
                    ref = Ref.to(counter.made(bb, bb.emit(turns)))
                turned = known.reshape(-1)[0] - first
                ref.scope.known.set("", counter.after(turned), counter.dtype)
                found.append(ref)
            else:
                found.append(Ref.to(next(left)))
        return found

    def _state(self, results: Sequence[RelaxExpr], number: int) -> list[Ref]:
        """The state after the last turn: the next turn's number, then what was carried."""
        following = self.bb.normalize_argument(results[0])
        told = _counted(self.bb, following) if self.roles.counters else Ref.to(following)
        carried = results[1 : self.states + 1]
        found = self._given(self.bb, told, following, carried, self.scope, number)
        return [self.roles.stays.get(i, ref) for i, ref in enumerate(found)]

    # --- what the functions take ---

    def _limit(self, count: Ref) -> RelaxExpr:
        return _scalar(self.bb, count.scope.read(count.name, self.bb))

    def _operand(self, value: RelaxExpr) -> RelaxExpr:
        return self.bb.normalize_argument(value)

    def _captured(self) -> dict[str, RelaxExpr]:
        """Values that the body reads of the scope around it, but for what is known or constant."""
        found: dict[str, RelaxExpr] = {}
        scanned = [n for n in self.scope.names() if n.startswith(f"{self.turns.node.name}/scanned")]
        for name in [*self.turns.graph.free_names(), *scanned]:
            value = self.scope.made(name)
            if isinstance(value, Var):
                found[name] = value
        for i, ref in self.roles.stays.items():
            if not is_inside(ref):
                found[_name(i)] = self._operand(ref.scope.read(ref.name, self.bb))
        if self.count is not None and not isinstance(self.count, Constant):
            found[" count"] = self.count
        sizes = self._sizes(found)
        if sizes:
            found[" sizes"] = self._operand(ShapeExpr(sizes))
        return found

    def _sizes(self, captured: dict[str, RelaxExpr]) -> list[tir.Var]:
        """The symbols that the function must be told beside those that its tensors tell."""
        used: list[tir.Var] = []
        told: set[PrimExpr] = set()
        for value in [*captured.values(), *self.initial]:
            if isinstance(value.struct_info, TensorStructInfo) and value.struct_info.shape:
                told.update(v for v in value.struct_info.shape.values if isinstance(v, tir.Var))  # type: ignore[attr-defined]
        for value in [*captured.values(), *self.initial]:
            used += tir_vars_in_struct_info(value.struct_info)
        read = [self.scope.known.get(name) for name in self.turns.graph.free_names()]
        read += [ref.known for ref in self.roles.stays.values()]
        read += [_item(counter.start) for counter in self.roles.counters.values()]
        for known in read:
            if known is not None and known.dtype == object:
                for item in known.reshape(-1):
                    if isinstance(item, PrimExpr):
                        used += undefined_vars(item)
        return [symbol for symbol in dict.fromkeys(used) if symbol not in told]

    def _params(self) -> tuple[list[Var], Scope]:
        """The parameters of captured values, and the scope that the body sees with them."""
        around = Scope(self.scope.opsets, self.scope)
        params = []
        for name, value in self.captured.items():
            var = Var(name.strip().replace("/", "_"), value.struct_info)
            self._note(var, self.given.get(value))
            params.append(var)
            around.bind(name, var)
        return params, around

    def _state_vars(self) -> list[Var]:
        """The parameters of what turns hand on, and of what they collect."""
        found = [Var("state", info) for info in self.infos]
        for var, held in zip(found, self.held):
            self._note(var, held)
        return found

    def _note(self, value: RelaxExpr, held: Given | None) -> None:
        if held is not None:
            self.given[value] = held

    # --- one turn ---

    def _turn(
        self, bb: BlockBuilder, number: RelaxExpr, state: Sequence[RelaxExpr], around: Scope,
        first: int = 0,
    ) -> tuple[RelaxExpr | None, list[RelaxExpr]]:  # fmt: skip
        """Whether to go on (None: always), and the state with what is collected."""
        told = _counted(bb, number)
        given = self._given(bb, told, number, state[: self.states], around, first)
        turn = self.turns.body(told, given, bb, around)
        if len(turn.state) < len(self.before):
            found, legal = (f"{len(refs)} values of state" for refs in (turn.state, self.before))
            raise self.turns.node.invalid("body", found, legal)
        go: RelaxExpr | None = None
        if turn.go_on is not None and not turn.go_on.holds and not self.exact:
            self.may_stop = True
            go = _scalar(bb, turn.go_on.scope.read(turn.go_on.name, bb))
        new = [ref.scope.read(ref.name, bb) for i, ref in enumerate(turn.state)
               if self.roles.is_carried(i)]  # fmt: skip
        for before, ref in zip(state[self.states :], turn.collected):
            item = bb.normalize_argument(ref.scope.read(ref.name, bb))
            if self.rows is None:
                row = bb.normalize_argument(op.expand_dims(item, [0]))
                before = _fitted(bb, before, row, self.turns.node)
                new.append(bb.emit(op.concat([before, row], 0)))
            else:
                new.append(self._written(bb, before, item, number, first))
        return go, new

    def _written(
        self, bb: BlockBuilder, rows: RelaxExpr, item: RelaxExpr, number: RelaxExpr, first: int
    ) -> RelaxExpr:
        """The rows with one more of them written, in place."""
        return written_row(bb, rows, item, bb.normalize_argument(number), first)

    def _settle(self, number: int) -> None:
        """Find struct infos of the state that hold before and after each turn.

        Extents that a turn changes become symbols; each round makes at least one, so it ends.
        """
        if len(self.initial) == self.states:
            self._add_collected()
        while True:
            aside = BlockBuilder()
            params, around = self._params()
            state = self._state_vars()
            counted = Var("number", TensorStructInfo((), "int64"))
            aside.begin_scope([counted, *state, *params])
            aside.begin_binding_block()
            _, new = self._turn(aside, counted, state, around, number)
            found = [_common(a, aside.normalize(b).struct_info, self.turns.node)
                     for a, b in zip(self.infos, new)]  # fmt: skip
            held = [a and a.and_also(self.given.get(b, a)) for a, b in zip(self.held, new)]
            if all(a is b for a, b in zip(found, self.infos)) and held == self.held:
                return
            self.infos, self.held = found, held

    def _refuse_ragged(self) -> None:
        """Sequences that only grow are rows of a tensor, if these have the same extents."""
        rows = self.infos[self.states + self.turns.collects - self.turns.lengthens :]
        places = [i for i, info in enumerate(rows) if _has_own(info)]
        if places:
            raise RowsDiffer(places)

    def _add_collected(self) -> None:
        """Collected values start as stacks of none."""
        for i in range(self.turns.collects):
            nothing = self.turns._nothing(self.before, i)
            self.initial.append(nothing)
            self.infos.append(nothing.struct_info)

    # --- room for what is collected ---

    def _make_room(self, number: int) -> bool:
        """Take room for all rows at once, if their number and their extents are known."""
        infos = self.infos[self.states :]
        if not infos:
            return False
        shapes = [info.shape.values[1:] for info in infos]  # type: ignore[attr-defined]
        if any(_is_own(extent) for shape in shapes for extent in shape):
            return False
        rows = self._row_count(number, infos)
        if rows is None:
            return False
        self.rows = rows
        for i, (info, shape) in enumerate(zip(infos, shapes), self.states):
            assert isinstance(info, TensorStructInfo), "tensors are collected"
            room = alloc_tensor(ShapeExpr([rows, *shape]), str(info.dtype), 0)
            self.initial[i] = self.bb.emit(room)
            self.infos[i] = self.initial[i].struct_info
        return True

    def _row_count(self, number: int, infos: Sequence[StructInfo]) -> PrimExpr | None:
        """At most so many turns; None where that is no help."""
        done = tir.const(number, "int64")
        if self.count is None:
            return None
        if self.limit is None:
            if self.may_stop:
                return None  # the count may be a number for "no end"
            turns = op.maximum(op.subtract(self.count, Constant(np.asarray(number))),
                               Constant(np.asarray(0)))  # fmt: skip
            row = self.bb.emit(op.reshape(turns, (1,)))
            rows = fresh_extent("rows")
            self.bb.match_cast(self.bb.emit(op.tensor_to_shape(row)), ShapeStructInfo([rows]))
            return rows
        limit = self.limit.reshape(-1)[0]
        if isinstance(limit, PrimExpr):
            left = Analyzer().simplify(limit - done)
            return left if isinstance(left, tir.Var) else tir.max(left, tir.const(0, "int64"))
        least = sum(_known_bytes(info) for info in infos)
        if self.may_stop and (int(limit) - number) * least > _LARGEST_GUESS:
            return None
        return tir.const(max(int(limit) - number, 0), "int64")

    def _those_made(
        self, following: RelaxExpr, number: int, collected: Sequence[RelaxExpr]
    ) -> list[RelaxExpr]:
        """The rows that were written, where turns ended early."""
        made = op.subtract(following, Constant(np.asarray(number, np.int64)))
        row = self.bb.emit(op.reshape(made, (1,)))
        symbol = fresh_extent("turns")
        self.bb.match_cast(self.bb.emit(op.tensor_to_shape(row)), ShapeStructInfo([symbol]))
        found: list[RelaxExpr] = []
        for rows in collected:
            info: Any = rows.struct_info
            part = self.bb.emit(op.strided_slice(rows, [0], [0], [symbol], assume_inbound=True))
            extents = [symbol, *info.shape.values[1:]]
            found.append(self.bb.match_cast(part, TensorStructInfo(extents, info.dtype)))
        return found

    # --- all turns ---

    def _result_info(self) -> TupleStructInfo:
        scalars = [TensorStructInfo((), "bool"), TensorStructInfo((), "int64")]
        return TupleStructInfo([*scalars, *(_closed(info, self.turns.node) for info in self.infos)])

    def _repeat(self, first: int) -> GlobalVar:
        """The function that calls itself."""
        captured, around = self._params()
        number = Var("number", TensorStructInfo((), "int64"))
        state = self._state_vars()
        count = self.count
        if count is not None and not isinstance(count, Constant):
            count = around.read(" count", self.bb)

        def turn(given: list[Var]) -> list[RelaxExpr]:
            more, new = self._turn(self.bb, number, state, around, first)
            following = self.bb.emit(op.add(number, Constant(np.asarray(1, np.int64))))
            go = more
            if count is not None:
                below = op.less(following, count)
                go = below if go is None else op.logical_and(go, below)
            go = Constant(np.asarray(True)) if go is None else go
            return [self._operand(value) for value in (go, following, *new, *captured)]

        name = f"{self.turns.node.name}_repeat"
        params = [number, *state, *captured]
        return repeated(self.bb, name, params, 1 + len(state), self._result_info(), turn)

    def _unpacked(self, value: RelaxExpr) -> list[RelaxExpr]:
        """The number of the next turn and the state, with symbols where extents change."""
        found: list[RelaxExpr] = [self.bb.emit(TupleGetItem(value, 1))]
        for i, info in enumerate(self.infos, 2):
            part = self.bb.emit(TupleGetItem(value, i))
            if isinstance(info, TensorStructInfo) and part.struct_info.shape is None:  # type: ignore[attr-defined]
                part = self.bb.match_cast(part, _renamed(info))
            self._note(part, (self.held + [None] * len(self.infos))[i - 2])
            found.append(part)
        return found


def _fitted(bb: BlockBuilder, rows: RelaxExpr, row: RelaxExpr, node: Any) -> RelaxExpr:
    """Rows whose extents a turn tells, with those of the row that follows, checked when it runs."""
    info: Any = rows.struct_info
    told: Any = row.struct_info
    shape = told.shape
    if shape is None or not any(_is_own(extent) for extent in info.shape.values[1:]):
        return rows
    count, *extents = info.shape.values
    same = [a.equal(b) for a, b in zip(extents, shape.values[1:]) if a is not b]
    if same:
        asked = f"ONNX {node.op_type} {node.name!r}: values that a turn puts to those before"
        text = message(asked, found="another shape", legal="the shape of the first turn's")
        fits = tir.any(count.equal(0), tir.all(*same))
        bb.emit(op.assert_op(PrimValue(fits), format=text))
    return bb.emit(op.reshape(rows, [count, *shape.values[1:]]))


def _name(place: int) -> str:
    """By which the body reads state from outside."""
    return f" state {place}"


def _item(value: Any) -> Any:
    """A value as an array of one."""
    found = np.empty((), object)
    found[()] = value
    return found


def _known_bytes(info: StructInfo) -> int:
    """The bytes of a row, as far as they are known."""
    assert isinstance(info, TensorStructInfo), "tensors are collected"
    total = int(info.dtype.itemsize)
    for extent in info.shape.values[1:]:  # type: ignore[union-attr]
        total *= max(int(getattr(extent, "value", 1)), 1)
    return total


def _counted(bb: BlockBuilder, number: RelaxExpr) -> Ref:
    """The number of a turn, as a tensor and as a symbol that slices and shapes may use."""
    symbol = tir.Var("turn", "int64")
    row = bb.emit(op.reshape(number, (1,)))
    bb.match_cast(bb.emit(op.tensor_to_shape(row)), ShapeStructInfo([symbol]))
    ref = Ref.to(number)
    known = np.empty((), object)
    known[()] = symbol
    ref.scope.known.set(ref.name, known)
    return ref


def _scalar(bb: BlockBuilder, value: RelaxExpr) -> RelaxExpr:
    info = value.struct_info
    if isinstance(info, TensorStructInfo) and info.ndim != 0:
        value = op.reshape(value, ())
    return bb.normalize_argument(value)


def _is_own(extent: PrimExpr) -> bool:
    """Whether an extent is a symbol of the loop itself."""
    return isinstance(extent, _Changing)


def _has_own(info: StructInfo) -> bool:
    assert isinstance(info, TensorStructInfo), "tensors are collected"
    return any(_is_own(extent) for extent in info.shape.values[1:])  # type: ignore[union-attr]


class _Changing(tir.Var):
    """A symbol for an extent that changes from turn to turn."""


def _common(a: StructInfo, b: StructInfo, node: Any) -> StructInfo:
    """What holds for both; `a` itself when it does."""
    if isinstance(a, ObjectStructInfo) and isinstance(b, ObjectStructInfo):
        return a
    if not isinstance(a, TensorStructInfo) or not isinstance(b, TensorStructInfo):
        raise node.invalid("the state", f"{a} and {b}", "tensors, unless the turns are known")
    if a.dtype != b.dtype or a.ndim != b.ndim or a.shape is None:
        raise node.invalid("the state", f"{a}, then {b}", "one type and one rank in all turns")
    after: Any = [None] * a.ndim if b.shape is None else b.shape.values  # type: ignore[attr-defined]
    analyzer = Analyzer()
    extents = [
        old if _is_own(old) or (new is not None and analyzer.can_prove_equal(old, new))
        else _Changing("extent", "int64")
        for old, new in zip(a.shape.values, after)  # type: ignore[attr-defined]
    ]  # fmt: skip
    if all(x is y for x, y in zip(extents, a.shape.values)):  # type: ignore[attr-defined]
        return a
    return TensorStructInfo(extents, a.dtype)


def _closed(info: StructInfo, node: Any) -> StructInfo:
    """The struct info without extents that change."""
    if isinstance(info, ObjectStructInfo):
        return info
    if not isinstance(info, TensorStructInfo):
        raise node.invalid("the state", str(info), "tensors, unless the turns are known")
    if info.shape is None or not any(_is_own(e) for e in info.shape.values):  # type: ignore[attr-defined]
        return info
    return TensorStructInfo(dtype=info.dtype, ndim=info.ndim)


def _renamed(info: TensorStructInfo) -> TensorStructInfo:
    """The same with new symbols for extents that change."""
    extents = [fresh_extent() if _is_own(e) else e for e in info.shape.values]  # type: ignore[union-attr]
    return TensorStructInfo(extents, info.dtype)
