"""Arithmetic on 8-bit floats is done in a wider type; memory stays as it is.

C[i] = A[i] * B[i]     ->     C[i] = float8(float32(A[i]) * float32(B[i]))
"""

from __future__ import annotations

from typing import Final

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.target.target import Target
from tvm.tir.function import PrimFunc

from .float_legalizer import compute_in, cuda_without
from .pass_form import tir_pass

COMPUTES_FP8: Final = 89  # the compute capability from which CUDA devices do


@tir_pass("tir.FP8ComputeLegalize")
def FP8ComputeLegalize(
    func: PrimFunc, mod: IRModule, ctx: PassContext, promote_dtype: str = "float32", *,
    promote_dtype_str: str | None = None,
) -> PrimFunc:  # fmt: skip
    """Only loads, stores and casts touch 8-bit floats, unless the target computes with them.

    `promote_dtype_str` is the older name of the type to compute in.
    """
    target = func.attrs.get("target")
    if isinstance(target, Target) and target.cuda_version >= COMPUTES_FP8:
        return func
    wide, lacking = promote_dtype_str or promote_dtype, cuda_without(func, COMPUTES_FP8)
    return compute_in(func, lambda dtype: dtype.is_float8, wide, lacking)
