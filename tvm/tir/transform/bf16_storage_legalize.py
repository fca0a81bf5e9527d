"""bfloat16 is kept as unsigned 16-bit integers.

A: bfloat16[n]; A[i]     ->     A: uint16[n]; T.reinterpret("bfloat16", A[i])
"""

from __future__ import annotations

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir.function import PrimFunc

from .float_legalizer import keeps_storage, store_as_integers
from .pass_form import tir_pass


@tir_pass("tir.BF16StorageLegalize")
def BF16StorageLegalize(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No buffer holds bfloat16, unless the target\'s language has the type."""
    if keeps_storage(func, "bfloat16"):
        return func
    return store_as_integers(func, lambda dtype: dtype.is_bfloat16)
