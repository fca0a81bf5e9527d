"""Loops whose turns importing cannot write out: a function that calls itself.

    repeat(level, go, number, state...):
        if not go:      (go, number, state...)
        if level == 0:  step(number, state...)                  one turn
        else:           repeat(level - 1, ...) sixteen times over

A level makes up to 16^level turns, and a call that need not go on costs next to nothing, so that
the calls are never nested deeper than the levels, however many turns there are. Extents that
change from turn to turn become symbols of the function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tvm import tir
from tvm.arith import Analyzer
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr, StructInfo
from tvm.relax import op
from tvm.relax.bind import copy_with_new_vars
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Constant, Function, If, SeqExpr, Tuple, TupleGetItem, Var
from tvm.relax.frontend.extents import fresh_extent
from tvm.relax.struct_info import (
    FuncStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tvm.relax.struct_info_rules import tir_vars_in_struct_info
from tvm.tir.analysis import undefined_vars

from .scope import Ref, Scope

if TYPE_CHECKING:
    from .control import _Turns

CALLS_A_LEVEL = 16
LEVELS = 16  # 16^16 turns are more than a count of 64 bits can ask for


def repeat(
    turns: _Turns, number: int, count: Ref | None, go_on: Ref | None, state: Sequence[Ref]
) -> tuple[list[Ref], list[RelaxExpr]]:
    """The state after the turns from `number` on, and what they collected, stacked."""
    loop = _Loop(turns, count, state)
    return loop.run(number, go_on)


class _Loop:
    def __init__(self, turns: _Turns, count: Ref | None, state: Sequence[Ref]) -> None:
        self.turns, self.bb, self.scope = turns, turns.bb, turns.node.scope
        self.count = None if count is None else self._limit(count)
        self.initial = [self._operand(ref.scope.read(ref.name, self.bb)) for ref in state]
        self.states = len(state)
        self.captured = self._captured()
        self.infos = [value.struct_info for value in self.initial]

    def run(self, number: int, go_on: Ref | None) -> tuple[list[Ref], list[RelaxExpr]]:
        self._settle()
        step = self._step()
        repeat_var = self._repeat(step)
        first = Constant(np.asarray(number, np.int64))
        go: RelaxExpr = Constant(np.asarray(True))
        if go_on is not None:
            go = _scalar(self.bb, go_on.scope.read(go_on.name, self.bb))
        if self.count is not None:
            go = self._operand(op.logical_and(go, op.less(first, self.count)))
        level = Constant(np.asarray(LEVELS, np.int64))
        value = self.bb.emit(
            Call(repeat_var, [level, go, first, *self.initial, *self.captured.values()])
        )
        results = self._unpacked(self.bb, value, 2)
        state = [Ref.to(result) for result in results[: self.states]]
        return state, list(results[self.states :])

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
        if self.count is not None and not isinstance(self.count, Constant):
            found[" count"] = self.count
        sizes = self._sizes(found)
        if sizes:
            found[" sizes"] = self._operand(ShapeExpr(sizes))
        return found

    def _sizes(self, captured: dict[str, RelaxExpr]) -> list[tir.Var]:
        """The symbols of captured values and of known ones, which the functions must be told."""
        used: list[tir.Var] = []
        for value in [*captured.values(), *self.initial]:
            used += tir_vars_in_struct_info(value.struct_info)
        for name in self.turns.graph.free_names():
            known = self.scope.known.get(name)
            if known is not None and known.dtype == object:
                for item in known.reshape(-1):
                    if isinstance(item, PrimExpr):
                        used += undefined_vars(item)
        return list(dict.fromkeys(used))

    def _params(self) -> tuple[list[Var], Scope]:
        """The parameters of captured values, and the scope that the body sees with them."""
        around = Scope(self.scope.opsets, self.scope)
        params = []
        for name, value in self.captured.items():
            var = Var(name.strip().replace("/", "_"), value.struct_info)
            params.append(var)
            around.bind(name, var)
        return params, around

    # --- one turn ---

    def _turn(
        self, bb: BlockBuilder, number: RelaxExpr, state: Sequence[RelaxExpr], around: Scope
    ) -> tuple[RelaxExpr, list[RelaxExpr]]:
        """Whether to go on, and the state with what is collected."""
        given = [Ref.to(value) for value in state[: self.states]]
        turn = self.turns.body(_counted(bb, number), given, bb, around)
        go: RelaxExpr = Constant(np.asarray(True))
        if turn.go_on is not None:
            go = _scalar(bb, turn.go_on.scope.read(turn.go_on.name, bb))
        new = [ref.scope.read(ref.name, bb) for ref in turn.state]
        for before, ref in zip(state[self.states :], turn.collected):
            item = op.expand_dims(ref.scope.read(ref.name, bb), [0])
            new.append(bb.emit(op.concat([before, bb.normalize_argument(item)], 0)))
        return go, new

    def _settle(self) -> None:
        """Find struct infos of the state that hold before and after each turn.

        Extents that a turn changes become symbols; each round makes at least one, so it ends.
        """
        self._add_collected()
        while True:
            aside = BlockBuilder()
            params, around = self._params()
            state = [Var("state", info) for info in self.infos]
            number = Var("number", TensorStructInfo((), "int64"))
            aside.begin_scope([number, *state, *params])
            aside.begin_binding_block()
            _, new = self._turn(aside, number, state, around)
            found = [_common(a, aside.normalize(b).struct_info, self.turns.node)
                     for a, b in zip(self.infos, new)]  # fmt: skip
            if all(a is b for a, b in zip(found, self.infos)):
                return
            self.infos = found

    def _add_collected(self) -> None:
        """Collected values start as stacks of none."""
        for i in range(self.turns.collects):
            nothing = self.turns._nothing([Ref.to(v) for v in self.initial], i)
            self.initial.append(nothing)
            self.infos.append(nothing.struct_info)

    def _result_info(self) -> TupleStructInfo:
        scalars = [TensorStructInfo((), "bool"), TensorStructInfo((), "int64")]
        return TupleStructInfo([*scalars, *(_closed(info) for info in self.infos)])

    def _step(self) -> GlobalVar:
        """The function of one turn."""
        with self.bb.aside():
            params, around = self._params()
            number = Var("number", TensorStructInfo((), "int64"))
            state = [Var("state", info) for info in self.infos]
            every = [number, *state, *params]
            self.bb.begin_scope(every)
            self.bb.begin_binding_block()
            go, new = self._turn(self.bb, number, state, around)
            following = self.bb.emit(op.add(number, Constant(np.asarray(1, np.int64))))
            if self.count is not None:
                count = self.count
                if not isinstance(count, Constant):
                    count = around.read(" count", self.bb)
                go = op.logical_and(go, op.less(following, count))
            result = self.bb.emit(Tuple([self._operand(go), following, *map(self._operand, new)]))
            return self._add("step", every, SeqExpr([self.bb.end_block()], result))

    def _add(self, name: str, params: list[Var], body: RelaxExpr) -> GlobalVar:
        var = GlobalVar(self.bb.get_unique_name(f"{self.turns.node.name}_{name}"))
        return self._define(var, params, body)

    def _define(self, var: GlobalVar, params: list[Var], body: RelaxExpr) -> GlobalVar:
        func = Function(params, self.bb.normalize(body), self._result_info(), True)
        self.bb.end_scope()
        self.bb.update_func(var, copy_with_new_vars(func))
        return var

    # --- all turns ---

    def _repeat(self, step: GlobalVar) -> GlobalVar:
        """The function that calls itself."""
        with self.bb.aside():
            captured, _ = self._params()
            level = Var("level", TensorStructInfo((), "int64"))
            go = Var("go", TensorStructInfo((), "bool"))
            number = Var("number", TensorStructInfo((), "int64"))
            state = [Var("state", info) for info in self.infos]
            params = [level, go, number, *state, *captured]
            own = GlobalVar(self.bb.get_unique_name(f"{self.turns.node.name}_repeat"))
            own.struct_info_ = FuncStructInfo(
                [param.struct_info for param in params], self._result_info()
            )
            self.bb.begin_scope(params)
            self.bb.begin_binding_block()
            is_last = self._branch(lambda: Call(step, [number, *state, *captured]))
            more = self._branch(lambda: self._many(own, level, number, state, captured))
            stays = self._branch(lambda: Tuple([go, number, *state]))
            zero = Constant(np.asarray(0, np.int64))

            def turned() -> RelaxExpr:
                return If(self._operand(op.equal(level, zero)), is_last, more)

            result = self.bb.emit(If(go, self._branch(turned), stays))
            return self._define(own, params, SeqExpr([self.bb.end_block()], result))

    def _branch(self, make: Any) -> SeqExpr:
        self.bb.begin_scope(None)
        self.bb.begin_binding_block()
        result = self.bb.emit(make())
        block = self.bb.end_block()
        self.bb.end_scope()
        return SeqExpr([block], result)

    def _many(
        self, own: GlobalVar, level: Var, number: RelaxExpr, state: Sequence[RelaxExpr],
        captured: Sequence[Var],
    ) -> RelaxExpr:  # fmt: skip
        below = self.bb.emit(op.subtract(level, Constant(np.asarray(1, np.int64))))
        go: RelaxExpr = Constant(np.asarray(True))
        for _ in range(CALLS_A_LEVEL - 1):
            value = self.bb.emit(Call(own, [below, go, number, *state, *captured]))
            go, number, *state = self._unpacked(self.bb, value, 0)
        return Call(own, [below, go, number, *state, *captured])

    def _unpacked(self, bb: BlockBuilder, value: RelaxExpr, skipped: int) -> list[RelaxExpr]:
        """The fields of a result, with symbols where extents change."""
        every = [None, None, *self.infos]
        found: list[RelaxExpr] = []
        for i in range(skipped, len(every)):
            field, info = bb.emit(TupleGetItem(value, i)), every[i]
            if isinstance(info, TensorStructInfo) and field.struct_info.shape is None:  # type: ignore[attr-defined]
                field = bb.match_cast(field, _renamed(info))
            found.append(field)
        return found


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


class _Changing(tir.Var):
    """A symbol for an extent that changes from turn to turn."""


def _common(a: StructInfo, b: StructInfo, node: Any) -> StructInfo:
    """What holds for both; `a` itself when it does."""
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


def _closed(info: StructInfo) -> StructInfo:
    """The struct info without extents that change."""
    assert isinstance(info, TensorStructInfo), "the state is of tensors"
    if info.shape is None or not any(_is_own(e) for e in info.shape.values):  # type: ignore[attr-defined]
        return info
    return TensorStructInfo(dtype=info.dtype, ndim=info.ndim)


def _renamed(info: TensorStructInfo) -> TensorStructInfo:
    """The same with new symbols for extents that change."""
    extents = [fresh_extent() if _is_own(e) else e for e in info.shape.values]  # type: ignore[union-attr]
    return TensorStructInfo(extents, info.dtype)
