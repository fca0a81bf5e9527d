"""Two ways to compute a value, of which running takes one: a private function that forks.

    choice(chosen, outer...):
        if chosen:   (the values of the one way)
        else:        (the values of the other)

A call of it may stand in a dataflow block, and only the way that is taken is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tvm import tir
from tvm.ir.expr import RelaxExpr
from tvm.relax.bind import copy_with_new_vars
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Function, If, SeqExpr, Tuple, TupleGetItem, Var
from tvm.relax.loops import Exprs, branch, told
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo


def either(
    bb: BlockBuilder,
    chosen: RelaxExpr,
    outer: Exprs,
    on_true: Callable[[Exprs], Exprs],
    on_false: Callable[[Exprs], Exprs],
    symbols: Sequence[tir.Var] = (),
) -> list[RelaxExpr]:
    """What one of two ways gives, by a truth value without dimensions.

    Both get the values from outside, emit into the builder, and give as many values. They may use
    `symbols` and those in the shapes of the values. Extents in which they differ are not known.
    """
    outer = list(outer)
    given = [*outer, *told(bb, outer, symbols)]
    params = [Var("chosen", TensorStructInfo((), "bool"))]
    params += [Var("outer", value.struct_info) for value in given]
    with bb.aside():
        bb.begin_scope(params)
        bb.begin_binding_block()
        around = params[1 : len(outer) + 1]
        yes, no = (branch(bb, partial(_values, bb, way, around)) for way in (on_true, on_false))
        result = bb.emit(If(params[0], yes, no))
        made = bb.normalize(SeqExpr([bb.end_block()], result))
        bb.end_scope()
        own = bb.add_func(copy_with_new_vars(Function(params, made, None, True)), "choice")
    found = bb.emit(Call(own, [chosen, *given]))
    info = found.struct_info
    assert isinstance(info, TupleStructInfo), "both ways give tuples"
    return [bb.emit(TupleGetItem(found, i)) for i in range(len(info.fields))]


def _values(bb: BlockBuilder, way: Callable[[Exprs], Exprs], around: Exprs) -> Tuple:
    return Tuple([bb.normalize_argument(value) for value in way(around)])
