"""A pass that keeps the PrimFuncs that fulfil a condition."""

from __future__ import annotations

from collections.abc import Callable

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir.function import PrimFunc

from .pass_form import tir_pass


@tir_pass("tir.Filter")
def Filter(
    func: PrimFunc, mod: IRModule, ctx: PassContext, fcond: Callable[[PrimFunc], bool]
) -> PrimFunc | None:
    """No other PrimFunc is in the module."""
    return func if fcond(func) else None
