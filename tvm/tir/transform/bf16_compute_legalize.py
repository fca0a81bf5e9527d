"""Arithmetic on bfloat16 is done in float32; memory stays bfloat16.

C[i] = A[i] + B[i]     ->     C[i] = bfloat16(float32(A[i]) + float32(B[i]))

Both conversions are written with integers: the bits are rounded by adding half of what is dropped;
of what is no number, that may leave a zero. `BF16ComputeLegalizeAll`, which compiled functions
have, keeps these apart, and leaves conversions to targets that have them.
"""

from __future__ import annotations

from typing import Final

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.target.target import Target
from tvm.tir.function import PrimFunc

from .float_legalizer import compute_in, cuda_without
from .pass_form import tir_pass

COMPUTES_BF16: Final = 80  # the compute capability from which CUDA devices do


@tir_pass("tir.BF16ComputeLegalize")
def BF16ComputeLegalize(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Only loads and stores touch bfloat16, unless the target computes with it."""
    return _legalized(func, True, keep_nan=False)


@tir_pass("tir.BF16ComputeLegalize")
def BF16ComputeLegalizeAll(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """The same with casts where the target has them, and where what is no number stays none."""
    return _legalized(func, cuda_without(func, COMPUTES_BF16), keep_nan=True)


def _legalized(func: PrimFunc, lacking: bool, keep_nan: bool) -> PrimFunc:
    target = func.attrs.get("target")
    if isinstance(target, Target) and target.cuda_version >= COMPUTES_BF16:
        return func
    return compute_in(func, lambda dtype: dtype.is_bfloat16, "float32", lacking, keep_nan)
