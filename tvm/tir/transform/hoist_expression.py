"""Conditions and names that a loop does not change stand before the loop.

    for i in range(n):                        x = m * 2
        x = m * 2                             if x > 4:
        if x > 4:                      ->         for i in range(n):
            B[i] = A[i]                               B[i] = A[i]
        else:                                 else:
            B[i] = x                              for i in range(n):
                                                      B[i] = x

The flags in the config `tir.HoistExpression` say which conditions and which names. A condition
splits the loop into two versions, in each of which it is known.
"""

from __future__ import annotations

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, Sequential
from tvm.tir.function import PrimFunc

from .hoisting import HoistedConditionals, HoistedLetBindings, hoist
from .pass_form import tir_pass
from .remove_no_op import RemoveNoOp
from .simplify import Simplify


@tir_pass("tir.InsertHoistedExpression")
def _InsertHoistedExpression(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    config = ctx.option("tir.HoistExpression")
    conditions = HoistedConditionals(
        int(config.hoisted_conditionals) & HoistedConditionals.All.value  # other bits say nothing
    )
    lets = HoistedLetBindings(int(config.hoisted_let_bindings) & HoistedLetBindings.All.value)
    return hoist(func, conditions, lets)


def HoistExpression() -> Sequential:
    """No loop computes a condition that is the same for all of its iterations."""
    passes = [_InsertHoistedExpression(), Simplify(), RemoveNoOp()]
    return Sequential(passes, name="tir.HoistExpression")
