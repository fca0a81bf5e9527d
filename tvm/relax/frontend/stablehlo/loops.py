"""Loops: a private function that calls itself.

    loop(level, go, state..., outer...):
        if not go:      (go, state...)
        if level == 0:  one turn, and whether there is another
        else:           loop(level - 1, ...) sixteen times over

A level makes up to 16^level turns, and a call that need not go on costs next to nothing, so that
calls are never nested deeper than the levels, however many turns there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tvm.ir.expr import GlobalVar
from tvm.relax import op
from tvm.relax.expr import Call, Constant, Function, If, SeqExpr, Tuple, TupleGetItem, Var
from tvm.relax.struct_info import FuncStructInfo, TensorStructInfo, TupleStructInfo

from .program import Operation, Region, Value
from .registry import convert

if TYPE_CHECKING:
    from .stablehlo_translator import StableHLOImporter

CALLS_A_LEVEL: Final = 16
LEVELS: Final = 16  # 16^16 turns are more than a count of 64 bits can ask for


def outer_values(regions: Sequence[Region]) -> list[Value]:
    """Values that operations of the regions read, and that stand outside of them."""
    made: set[int] = set()
    read: dict[int, Value] = {}
    todo = list(regions)
    while todo:
        region = todo.pop()
        made |= {id(value) for value in region.arguments}
        for node in region.operations:
            made |= {id(value) for value in node.results}
            read |= {id(value): value for value in node.operands}
            todo += node.regions
    return [value for key, value in read.items() if key not in made]


@convert("stablehlo.while")
def repeated(imp: StableHLOImporter, node: Operation, *state: Any) -> list[Any]:
    """The state after the last turn."""
    return _Loop(imp, node, [imp.emit(value) for value in state]).run()


class _Loop:
    """The function of a loop, in the making."""

    def __init__(self, imp: StableHLOImporter, node: Operation, state: list[Any]) -> None:
        self.imp, self.bb = imp, imp.block_builder
        self.test, self.body = node.regions
        self.state = state
        outer = outer_values(node.regions)
        self.outer = [value for value in outer if isinstance(imp.env[value], Var)]

    def run(self) -> list[Any]:
        loop = self._function()
        go = self.imp.emit(self.imp.run(self.test, self.state)[0])
        outer = [self.imp.env[value] for value in self.outer]
        level = Constant(np.asarray(LEVELS, "int64"))
        made = self.bb.emit(Call(loop, [level, go, *self.state, *outer]))
        return [TupleGetItem(made, i + 1) for i in range(len(self.state))]

    def _function(self) -> GlobalVar:
        around = {value: self.imp.env[value] for value in self.outer}
        infos = [value.struct_info for value in self.state]
        level = Var("level", TensorStructInfo((), "int64"))
        go = Var("go", TensorStructInfo((), "bool"))
        state = [Var("state", info) for info in infos]
        outer = [Var("outer", value.struct_info) for value in around.values()]
        params = [level, go, *state, *outer]
        result = TupleStructInfo([go.struct_info, *infos])
        own = GlobalVar(self.bb.get_unique_name("loop"))
        own.struct_info_ = FuncStructInfo([param.struct_info for param in params], result)
        with self.bb.aside():
            self.imp.env.update(zip(self.outer, outer))
            self.bb.begin_scope(params)
            self.bb.begin_binding_block()
            out = self.bb.emit(self._choice(own, level, go, state, outer))
            body = self.bb.normalize(SeqExpr([self.bb.end_block()], out))
            self.bb.end_scope()
            self.bb.update_func(own, Function(params, body, result, True))
        self.imp.env.update(around)
        return own

    def _choice(self, own: GlobalVar, level: Var, go: Var, state: list[Var], outer: Any) -> If:
        zero = Constant(np.asarray(0, "int64"))

        def turned() -> Any:
            is_last = self.bb.emit(op.equal(level, zero))
            one = self._branch(lambda: self._turn(state))
            return If(is_last, one, self._branch(lambda: self._many(own, level, state, outer)))

        return If(go, self._branch(turned), self._branch(lambda: Tuple([go, *state])))

    def _branch(self, make: Callable[[], Any]) -> SeqExpr:
        self.bb.begin_scope(None)
        self.bb.begin_binding_block()
        result = self.bb.emit(make())
        block = self.bb.end_block()
        self.bb.end_scope()
        return SeqExpr([block], result)

    def _turn(self, state: list[Var]) -> Tuple:
        after = [self.imp.emit(value) for value in self.imp.run(self.body, state)]
        return Tuple([self.imp.emit(self.imp.run(self.test, after)[0]), *after])

    def _many(self, own: GlobalVar, level: Var, state: Sequence[Any], outer: Any) -> Call:
        below = self.bb.emit(op.subtract(level, Constant(np.asarray(1, "int64"))))
        go: Any = Constant(np.asarray(True))
        for _ in range(CALLS_A_LEVEL - 1):
            made = self.bb.emit(Call(own, [below, go, *state, *outer]))
            go, *state = [self.bb.emit(TupleGetItem(made, i)) for i in range(len(state) + 1)]
        return Call(own, [below, go, *state, *outer])
