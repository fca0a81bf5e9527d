"""Products and convolutions with what follows them, as CUTLASS computes them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext, Sequential
from tvm.relay.dataflow_pattern import DFPattern, is_constant, is_op, wildcard
from tvm.relay.expr import Call
from tvm.relay.traverse import post_order

from .partition import bound, partitioned, root_call, tensor_types
from .register import register_pattern_table

_DTYPES = {("float16", "float16"), ("float32", "float32"), ("int8", "int8"), ("uint8", "uint8")}


def make_gelu_pattern(bias_out: DFPattern, out_dtype: str = "float16") -> DFPattern:
    """`bias_out` times the half of one plus erf of it, as importers write gelu."""
    scaled = is_op("multiply")(bias_out, is_constant() | wildcard())
    if out_dtype == "float16":
        narrow = is_op("cast")(is_op("erf")(is_op("cast")(scaled)))
    else:
        narrow = is_op("erf")(scaled)
    half = is_op("multiply")(narrow, is_constant() | wildcard())
    return is_op("multiply")(is_op("add")(is_constant() | wildcard(), half), bias_out)


def make_gemm_pattern(
    with_bias: bool = True, with_act: str | None = None, out_dtype: str = "float16"
) -> DFPattern:
    """`nn.dense`, with a bias and an activation ("relu" or "gelu") or without."""
    gemm = is_op("nn.dense")(wildcard(), wildcard())
    if not with_bias:
        return gemm
    summed = _with_bias(gemm)
    if with_act is None:
        return summed
    if with_act == "relu":
        return is_op("nn.relu")(summed)
    if with_act == "gelu":
        return make_gelu_pattern(summed, out_dtype)
    raise TVMError(f"make_gemm_pattern: with_act {with_act!r}; legal: None, 'relu', 'gelu'")


def _with_bias(product: DFPattern) -> DFPattern:
    bias = wildcard()
    return is_op("add")(product, bias) | is_op("nn.bias_add")(product, bias)


def make_batch_matmul_pattern() -> DFPattern:
    """Products of matrices, one pair a batch."""
    return is_op("nn.batch_matmul")(wildcard(), wildcard())


def make_conv2d_pattern(with_bias: bool = False, with_act: str | None = None) -> DFPattern:
    """A convolution, with a bias, and "relu", "sigmoid", "silu" or "hardswish", or without."""
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    if not with_bias:
        return conv
    summed = _with_bias(conv)
    if with_act is None:
        return summed
    if with_act == "relu":
        return is_op("nn.relu")(summed)
    if with_act == "sigmoid":
        return is_op("sigmoid")(summed)
    if with_act == "silu":
        return is_op("multiply")(summed, is_op("sigmoid")(summed))
    if with_act == "hardswish":
        shifted = is_op("clip")(is_op("add")(summed, is_constant()))
        scaled = is_op("divide")(shifted, is_constant()) | is_op("multiply")(
            shifted, is_constant()
        )
        return is_op("multiply")(scaled, summed)
    raise TVMError(
        f"make_conv2d_pattern: with_act {with_act!r}; legal: None, 'relu', 'sigmoid', 'silu', "
        "'hardswish'"
    )


def make_conv2d_transpose_pattern() -> DFPattern:
    """A transposed convolution."""
    return is_op("nn.conv2d_transpose")(wildcard(), wildcard())


def make_conv2d_backward_weight_pattern() -> DFPattern:
    """The gradient of a convolution by its kernel."""
    return is_op("nn.conv2d_backward_weight")(wildcard(), wildcard())


def make_residual_block_pattern(
    tensor_op_out: DFPattern, binary_op: str = "add", with_act: str | None = "relu"
) -> DFPattern:
    """A sum or product of `tensor_op_out` and anything else, with "relu" or without."""
    residual = wildcard()
    joined = is_op(binary_op)(tensor_op_out, residual) | is_op(binary_op)(residual, tensor_op_out)
    return is_op("nn.relu")(joined) if with_act == "relu" else joined


def check_dtype(lhs: Any, rhs: Any) -> bool:
    """True for two types of operands that CUTLASS multiplies."""
    return (str(lhs.dtype), str(rhs.dtype)) in _DTYPES


def get_root_call(call: Call, root_op_name: str) -> Call:
    """The call of the operator that a match begins with."""
    return root_call(call, root_op_name)


def check_gemm(call: Call) -> bool:
    """True for a dense product of supported types."""
    lhs, rhs = tensor_types(get_root_call(call, "nn.dense"))
    return check_dtype(lhs, rhs)


def check_batch_matmul(call: Call) -> bool:
    """True for products whose second operands are turned, of supported types."""
    found = get_root_call(call, "nn.batch_matmul")
    o: Any = found.attrs
    return check_dtype(*tensor_types(found)) and not o.transpose_a and bool(o.transpose_b)


def is_depthwise_conv2d(ic: Any, oc: Any, groups: int) -> bool:
    """True for one filter a channel."""
    return bool(ic == oc == groups)


def check_conv2d_common(op_name: str, expected_kernel_layout: str, call: Call) -> bool:
    """True for NHWC, a kernel of that layout, supported types, and no groups."""
    found = get_root_call(call, op_name)
    lhs, rhs = tensor_types(found)
    o: Any = found.attrs
    plain = o.data_layout == "NHWC" and o.kernel_layout == expected_kernel_layout
    if not plain or not check_dtype(lhs, rhs):
        return False
    return int(o.groups) == 1


def check_conv2d(call: Call) -> bool:
    """True for a convolution that is taken."""
    return check_conv2d_common("nn.conv2d", "OHWI", call)


def check_conv2d_transpose(call: Call) -> bool:
    """True for a transposed convolution that is taken."""
    return check_conv2d_common("nn.conv2d_transpose", "OHWI", call)


def check_conv2d_backward_weight(call: Call) -> bool:
    """True for a gradient that is taken: its options name the kernel's layout last."""
    return check_conv2d_common("nn.conv2d_backward_weight", "NHWC", call)


def check_conv2d_residual(call: Call, binary_op: str) -> bool:
    """True if the convolution is taken and what is joined to it has its shape."""
    if not check_conv2d(call):
        return False
    conv = get_root_call(call, "nn.conv2d")
    op = Op.get(binary_op)
    joined = [e for e in post_order(call) if isinstance(e, Call) and e.op is op][-1]
    shapes = [found.shape for found in tensor_types(joined)]
    own: Any = conv.checked_type
    return all(list(map(str, shape)) == list(map(str, own.shape)) for shape in shapes)


@register_pattern_table("cutlass")
def pattern_table() -> list[tuple[str, DFPattern, Any]]:
    """The larger patterns first."""
    dense = [
        ("cutlass.dense_bias_gelu_fp16", make_gemm_pattern(True, "gelu"), check_gemm),
        ("cutlass.dense_bias_gelu_fp32", make_gemm_pattern(True, "gelu", "float32"), check_gemm),
        ("cutlass.dense_bias_relu", make_gemm_pattern(True, "relu"), check_gemm),
        ("cutlass.dense_bias", make_gemm_pattern(True), check_gemm),
        ("cutlass.dense", make_gemm_pattern(False), check_gemm),
        ("cutlass.batch_matmul", make_batch_matmul_pattern(), check_batch_matmul),
    ]
    acts = ("hardswish", "silu", "relu", "sigmoid")
    biased = [
        *[(f"cutlass.conv2d_bias_{act}", make_conv2d_pattern(True, act)) for act in acts],
        ("cutlass.conv2d_bias", make_conv2d_pattern(True)),
    ]
    residual = [
        (f"{name}_residual_{op}{tail}", make_residual_block_pattern(pattern, op, act),
         partial(check_conv2d_residual, binary_op=op))
        for act, tail in (("relu", "_relu"), (None, ""))
        for name, pattern in biased
        for op in ("add", "multiply")
    ]  # fmt: skip
    return [
        *residual, *dense, *[(name, pattern, check_conv2d) for name, pattern in biased],
        ("cutlass.conv2d", make_conv2d_pattern(), check_conv2d),
        ("cutlass.conv2d_transpose", make_conv2d_transpose_pattern(), check_conv2d_transpose),
        ("cutlass.conv2d_backward_weight", make_conv2d_backward_weight_pattern(),
         check_conv2d_backward_weight),
    ]  # fmt: skip


def partition_for_cutlass(mod: IRModule, params: Mapping[str, Any] | None = None) -> IRModule:
    """The module with functions for CUTLASS.

    With values for parameters, normalisations are written out and scales go into the weights.
    """
    from tvm.relay import transform as t

    if params is not None:
        simpler = [t.InferType(), t.SimplifyInference(), t.FoldConstant(), t.FoldScaleAxis()]
        with PassContext(opt_level=3):
            mod = Sequential(simpler)(bound(mod, params))
    return partitioned(mod, "cutlass", pattern_table(), bind_constants=False)
