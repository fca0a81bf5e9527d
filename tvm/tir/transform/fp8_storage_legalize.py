"""8-bit floats are kept as unsigned bytes.

A: float8_e4m3fn[n]; A[i]     ->     A: uint8[n]; T.reinterpret("float8_e4m3fn", A[i])
"""

from __future__ import annotations

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir.function import PrimFunc

from .float_legalizer import keeps_storage, store_as_integers
from .pass_form import tir_pass


@tir_pass("tir.FP8StorageLegalize")
def FP8StorageLegalize(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No buffer holds 8-bit floats, unless the target\'s language has the type."""
    if keeps_storage(func, "float8_e4m3fn"):
        return func
    return store_as_integers(func, lambda dtype: dtype.is_float8)
