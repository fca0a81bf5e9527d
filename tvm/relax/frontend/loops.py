"""Loops whose number of turns only running tells: a private function that ends by calling itself.

    loop(go, state..., outer...):
        if go:   loop(whether there is another turn, the next state..., outer...)
        else:    (go, state...)

Native code, bytecode and the interpreter run such a function as a loop, not as calls within calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tvm.error import message
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.relax.bind import copy_with_new_vars
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Function, If, SeqExpr, Tuple, TupleGetItem, Var
from tvm.relax.struct_info import FuncStructInfo, TensorStructInfo, TupleStructInfo
from tvm.relax.struct_info_rules import tir_vars_in_struct_info

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
    go = bb.normalize_argument(test(state, outer))
    result = TupleStructInfo([go.struct_info, *(value.struct_info for value in state)])

    def turn(given: list[Var]) -> list[RelaxExpr]:
        before, around = given[: len(state)], given[len(state) :]
        after = [bb.normalize_argument(value) for value in body(before, around)]
        return [bb.normalize_argument(test(after, around)), *after, *around]

    names = ["state"] * len(state) + ["outer"] * len(outer)
    params = [Var(n, v.struct_info) for n, v in zip(names, (*state, *outer))]
    loop = repeated(bb, "loop", params, len(state), result, turn)
    made = bb.emit(Call(loop, [go, *state, *outer]))
    return [TupleGetItem(made, i + 1) for i in range(len(state))]


def repeated(
    bb: BlockBuilder,
    name: str,
    params: list[Var],
    states: int,
    result: TupleStructInfo,
    turn: Callable[[list[Var]], list[RelaxExpr]],
) -> GlobalVar:
    """A function `(go, params...)` that gives `go` and the first `states` parameters, at its end.

    `turn` emits what one turn does, and gives what the function is called with next.
    """
    go = Var("go", TensorStructInfo((), "bool"))
    every = [go, *params]
    own = GlobalVar(bb.get_unique_name(name))
    own.struct_info_ = FuncStructInfo([param.struct_info for param in every], result)
    with bb.aside():
        bb.begin_scope(every)
        bb.begin_binding_block()
        more = branch(bb, lambda: Call(own, turn(params)))
        ends = branch(bb, lambda: Tuple([go, *params[:states]]))
        out = bb.emit(If(go, more, ends))
        made = bb.normalize(SeqExpr([bb.end_block()], out))
        bb.end_scope()
        bb.update_func(own, copy_with_new_vars(Function(every, made, result, True)))
    return own


def branch(bb: BlockBuilder, make: Callable[[], RelaxExpr]) -> SeqExpr:
    """What `make` emits and gives, as a branch."""
    bb.begin_scope(None)
    bb.begin_binding_block()
    result = bb.emit(make())
    block = bb.end_block()
    bb.end_scope()
    return SeqExpr([block], result)
