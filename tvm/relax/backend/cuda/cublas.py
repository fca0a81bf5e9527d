"""Products of matrices that cuBLAS takes over."""

from __future__ import annotations

from typing import Final

from tvm.ir.module import IRModule
from tvm.relax import transform
from tvm.relax.backend.library_checks import (
    batches_fit,
    bias_is_vector,
    divisible,
    is_number,
    scale_is_scalar,
    tensors,
)
from tvm.relax.backend.pattern_registry import get_patterns_with_prefix, register_patterns
from tvm.relax.backend.patterns import (
    make_matmul_dequantize_pattern,
    make_matmul_multiply_pattern,
    make_matmul_pattern,
)
from tvm.relax.backend.utils import has_leaking_intermediate_variables
from tvm.relax.expr import Call, Var, is_call_of
from tvm.relax.transform.fuse_ops_by_pattern import PatternCheckContext

_TYPES: Final = ("float16", "float32", "bfloat16", "int8", "float8_e4m3fn")
_GELU: Final = "relax.nn.gelu"
_RELU: Final = "relax.nn.relu"


def _check_matmul(context: PatternCheckContext) -> bool:
    """Types and shapes that cuBLASLt multiplies."""
    found = tensors(context, "lhs", "rhs", "root")
    if has_leaking_intermediate_variables(context) or found is None:
        return False
    (lhs, kind), (rhs, other), (_, out) = found
    if kind != other or kind not in _TYPES or not scale_is_scalar(context):
        return False
    if not is_number(lhs[-1]):  # what is summed over
        return False
    if kind == "int8" and not (divisible(lhs[-1], 4) and divisible(rhs[-1], 4)):
        return False
    if kind == "int8" and "bias" in context.annotated_expr:
        return False
    if kind == "float8_e4m3fn" and not (
        out != "float8_e5m2" and _rhs_is_transposed(context)
        and divisible(lhs[-1], 16) and divisible(rhs[-1], 16)
    ):  # fmt: skip
        return False
    return bias_is_vector(context) and batches_fit(lhs, rhs)


def _rhs_is_transposed(context: PatternCheckContext) -> bool:
    product = context.annotated_expr["root"]
    assert isinstance(product, Call), "the root of these patterns is a product"
    right = product.args[1]
    value = context.matched_bindings.get(right) if isinstance(right, Var) else right
    return is_call_of(value, "relax.permute_dims")


register_patterns(
    [
        ("cublas.matmul", *make_matmul_pattern(), _check_matmul),
        ("cublas.matmul_bias", *make_matmul_pattern(True), _check_matmul),
        ("cublas.matmul_bias_relu", *make_matmul_pattern(True, _RELU), _check_matmul),
        ("cublas.matmul_bias_gelu", *make_matmul_pattern(True, _GELU), _check_matmul),
        ("cublas.matmul_transposed", *make_matmul_pattern(False, None, True), _check_matmul),
        ("cublas.matmul_transposed_bias", *make_matmul_pattern(True, None, True), _check_matmul),
        ("cublas.matmul_transposed_bias_relu", *make_matmul_pattern(True, _RELU, True),
         _check_matmul),
        ("cublas.matmul_transposed_bias_gelu", *make_matmul_pattern(True, _GELU, True),
         _check_matmul),
        ("cublas.matmul_transposed_dequantize", *make_matmul_dequantize_pattern(True),
         _check_matmul),
        ("cublas.matmul_transposed_multiply", *make_matmul_multiply_pattern(True), _check_matmul),
    ]
)  # fmt: skip


def partition_for_cublas(mod: IRModule, bind_constants: bool = False) -> IRModule:
    """What cuBLAS computes in functions of their own, for its code generator."""
    patterns = get_patterns_with_prefix("cublas")
    return transform.FuseOpsByPattern(
        patterns, bind_constants=bind_constants, annotate_codegen=True
    )(mod)
