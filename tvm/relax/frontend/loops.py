"""Loops whose number of turns only running tells: a private function that calls itself.

    loop(level, go, state..., outer...):
        if not go:      (go, state...)
        if level == 0:  one turn, and whether there is another
        else:           loop(level - 1, ...) sixteen times over

A level makes up to 16^level turns, and a call that need not go on costs next to nothing, so that
calls are never nested deeper than the levels, however many turns there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from tvm.error import message
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.relax import op
from tvm.relax.bind import copy_with_new_vars
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Constant, Function, If, SeqExpr, Tuple, TupleGetItem, Var
from tvm.relax.struct_info import FuncStructInfo, TensorStructInfo, TupleStructInfo
from tvm.relax.struct_info_rules import tir_vars_in_struct_info

CALLS_A_LEVEL: Final = 16
LEVELS: Final = 16  # 16^16 turns are more than a count of 64 bits can ask for

Exprs: TypeAlias = Sequence[Any]


def while_loop(
    bb: BlockBuilder,
    state: Exprs,
    outer: Exprs,
    test: Callable[[Exprs, Exprs], RelaxExpr],
    body: Callable[[Exprs, Exprs], Exprs],
) -> list[RelaxExpr]:
    """The state after the last turn: `body` is repeated as long as `test` holds.

    Both get the state and the values from outside, and emit into the builder; a turn keeps the
    shapes and data types of the state.
    """
    for value in (*state, *outer):
        if tir_vars_in_struct_info(value.struct_info):
            found, legal = f"a value of {value.struct_info}", "shapes that are known"
            raise ValueError(message("a loop of unknown length", found=found, legal=legal))
    return _Loop(bb, test, body).run(list(state), list(outer))


class _Loop:
    def __init__(self, bb: BlockBuilder, test: Any, body: Any) -> None:
        self.bb, self.test, self.body = bb, test, body

    def run(self, state: list[Any], outer: list[Any]) -> list[RelaxExpr]:
        loop = self._function(state, outer)
        go = self.bb.normalize_argument(self.test(state, outer))
        level = Constant(np.asarray(LEVELS, "int64"))
        made = self.bb.emit(Call(loop, [level, go, *state, *outer]))
        return [TupleGetItem(made, i + 1) for i in range(len(state))]

    def _function(self, given: list[Any], around: list[Any]) -> GlobalVar:
        infos = [value.struct_info for value in given]
        level = Var("level", TensorStructInfo((), "int64"))
        go = Var("go", TensorStructInfo((), "bool"))
        state = [Var("state", info) for info in infos]
        outer = [Var("outer", value.struct_info) for value in around]
        params = [level, go, *state, *outer]
        result = TupleStructInfo([go.struct_info, *infos])
        own = GlobalVar(self.bb.get_unique_name("loop"))
        own.struct_info_ = FuncStructInfo([param.struct_info for param in params], result)
        with self.bb.aside():
            self.bb.begin_scope(params)
            self.bb.begin_binding_block()
            out = self.bb.emit(self._choice(own, level, go, state, outer))
            made = self.bb.normalize(SeqExpr([self.bb.end_block()], out))
            self.bb.end_scope()
            func = Function(params, made, result, True)
            self.bb.update_func(own, copy_with_new_vars(func))
        return own

    def _choice(
        self, own: GlobalVar, level: Var, go: Var, state: list[Var], outer: list[Var]
    ) -> If:
        zero = Constant(np.asarray(0, "int64"))

        def turned() -> Any:
            is_last = self.bb.emit(op.equal(level, zero))
            one = self._branch(lambda: self._turn(state, outer))
            return If(is_last, one, self._branch(lambda: self._many(own, level, state, outer)))

        return If(go, self._branch(turned), self._branch(lambda: Tuple([go, *state])))

    def _branch(self, make: Callable[[], Any]) -> SeqExpr:
        self.bb.begin_scope(None)
        self.bb.begin_binding_block()
        result = self.bb.emit(make())
        block = self.bb.end_block()
        self.bb.end_scope()
        return SeqExpr([block], result)

    def _turn(self, state: list[Var], outer: list[Var]) -> Tuple:
        after = [self.bb.normalize_argument(value) for value in self.body(state, outer)]
        return Tuple([self.bb.normalize_argument(self.test(after, outer)), *after])

    def _many(self, own: GlobalVar, level: Var, state: Exprs, outer: list[Var]) -> Call:
        below = self.bb.emit(op.subtract(level, Constant(np.asarray(1, "int64"))))
        go: Any = Constant(np.asarray(True))
        for _ in range(CALLS_A_LEVEL - 1):
            made = self.bb.emit(Call(own, [below, go, *state, *outer]))
            go, *state = [self.bb.emit(TupleGetItem(made, i)) for i in range(len(state) + 1)]
        return Call(own, [below, go, *state, *outer])
