"""Conditions that a loop does not change are tested before the loop.

    for i in range(n):                        if m > 4:
        if m > 4:                      ->         for i in range(n):
            B[i] = A[i]                               B[i] = A[i]

A condition is hoisted out of all loops whose variables it does not use, as long as nothing stands
beside it; with `support_block_scope_hoisting` in the config `tir.HoistIfThenElse`, also one on the
numbers of threads, and out of launches. The basic variant reads no config.
"""

from __future__ import annotations

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, Sequential
from tvm.tir.function import PrimFunc

from .hoisting import HoistedConditionals, HoistedLetBindings, hoist
from .pass_form import tir_pass
from .remove_no_op import RemoveNoOp
from .simplify import Simplify


@tir_pass("tir.InsertHoistIfThenElse")
def _Hoist(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    conditions = HoistedConditionals.IfElseStmt
    if ctx.option("tir.HoistIfThenElse").support_block_scope_hoisting:
        conditions |= HoistedConditionals.UsingBlockVar
    return hoist(func, conditions, HoistedLetBindings.Never)


@tir_pass("tir.InsertHoistIfThenElseBasic")
def _HoistBasic(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    return hoist(func, HoistedConditionals.IfElseStmt, HoistedLetBindings.Never)


def HoistIfThenElse(variant: str | None = None) -> Sequential:
    """Loops test no condition that is the same for all of their iterations."""
    if variant not in (None, "basic"):
        raise ValueError(f"HoistIfThenElse: variant {variant!r}; legal: None or 'basic'")
    hoister = _HoistBasic() if variant == "basic" else _Hoist()
    return Sequential([hoister, Simplify(), RemoveNoOp()], name="tir.HoistIfThenElse")
