"""Products of matrices that hipBLAS takes over."""

from __future__ import annotations

from typing import Final

from tvm.ir.module import IRModule
from tvm.relax import transform
from tvm.relax.backend.library_checks import (
    batches_fit,
    bias_is_vector,
    is_number,
    tensors,
)
from tvm.relax.backend.pattern_registry import get_patterns_with_prefix, register_patterns
from tvm.relax.backend.patterns import make_matmul_pattern
from tvm.relax.backend.utils import has_leaking_intermediate_variables
from tvm.relax.transform.fuse_ops_by_pattern import PatternCheckContext

_GELU: Final = "relax.nn.gelu"
_RELU: Final = "relax.nn.relu"


def _check_matmul(context: PatternCheckContext) -> bool:
    """Types and shapes that hipBLASLt multiplies."""
    found = tensors(context, "lhs", "rhs")
    if has_leaking_intermediate_variables(context) or found is None:
        return False
    (lhs, kind), (rhs, other) = found
    if kind != other or kind != "float16" or not is_number(lhs[-1]):
        return False
    return bias_is_vector(context) and batches_fit(lhs, rhs)


register_patterns(
    [
        ("hipblas.matmul", *make_matmul_pattern(), _check_matmul),
        ("hipblas.matmul_bias", *make_matmul_pattern(True), _check_matmul),
        ("hipblas.matmul_bias_relu", *make_matmul_pattern(True, _RELU), _check_matmul),
        ("hipblas.matmul_bias_gelu", *make_matmul_pattern(True, _GELU), _check_matmul),
        ("hipblas.matmul_transposed", *make_matmul_pattern(False, None, True), _check_matmul),
        ("hipblas.matmul_transposed_bias", *make_matmul_pattern(True, None, True), _check_matmul),
        ("hipblas.matmul_transposed_bias_relu", *make_matmul_pattern(True, _RELU, True),
         _check_matmul),
        ("hipblas.matmul_transposed_bias_gelu", *make_matmul_pattern(True, _GELU, True),
         _check_matmul),
    ]
)  # fmt: skip


def partition_for_hipblas(mod: IRModule) -> IRModule:
    """What hipBLAS computes in functions of their own, for its code generator."""
    patterns = get_patterns_with_prefix("hipblas")
    return transform.FuseOpsByPattern(patterns, bind_constants=False, annotate_codegen=True)(mod)
