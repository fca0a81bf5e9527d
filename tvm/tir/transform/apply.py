"""A pass made of a function that changes one PrimFunc."""

from __future__ import annotations

from collections.abc import Callable

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir.function import PrimFunc

from .pass_form import tir_pass


@tir_pass("tir.Apply")
def Apply(
    func: PrimFunc, mod: IRModule, ctx: PassContext, ftransform: Callable[[PrimFunc], PrimFunc]
) -> PrimFunc:
    """Each PrimFunc is what `ftransform` makes of it."""
    return ftransform(func)
