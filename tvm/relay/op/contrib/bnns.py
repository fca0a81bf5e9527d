"""What BNNS of Apple's Accelerate takes: convolutions, products, pools and norms of float32.

    mod = partition_for_bnns(mod, params)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any, Final

from tvm.ir.module import IRModule
from tvm.ir.transform import Sequential
from tvm.relay.dataflow_pattern import DFPattern, is_constant, is_expr, is_op, wildcard
from tvm.relay.expr import Constant, const

from .partition import bound, root_call
from .register import register_pattern_table
from .subgraphs import taken_by

_NAME: Final = "bnns"


def partition_for_bnns(mod: IRModule, params: Mapping[str, Any] | None = None) -> IRModule:
    """The module with functions for BNNS."""
    from tvm.relay import transform as t

    return Sequential([
        t.InferType(),
        t.FoldConstant(),
        t.FoldScaleAxis(),
        t.DynamicToStatic(),
        t.AlterOpLayout(),
        t.FoldConstant(),
        t.MergeComposite(pattern_table()),
        t.AnnotateTarget(_NAME),
        t.PartitionGraph(),
    ])(bound(mod, params))  # fmt: skip


# --- checks ---


def dtype_is_supported(dtype: str) -> bool:
    """Whether tensors of a data type are taken: float32."""
    return dtype in ("float32", "")


def _is_float(arg: Any) -> bool:
    return str(arg.checked_type.dtype) == "float32"


taken_by(_NAME, "nn.batch_matmul")(lambda expr: True)


def _pool(expr: Any) -> bool:
    attrs, args = expr.attrs, expr.args
    rank = len(args[0].checked_type.shape)
    return rank in (3, 4) and _is_float(args[0]) and bool(attrs.layout == "NCHW")


@taken_by(_NAME, "nn.max_pool2d")
def max_pool2d_check(expr: Any) -> bool:
    """Whether maxima of windows are taken."""
    return _pool(expr)


@taken_by(_NAME, "nn.avg_pool2d")
def avg_pool2d_check(expr: Any) -> bool:
    """Whether means of windows are taken."""
    return _pool(expr)


@taken_by(_NAME, "nn.global_max_pool2d")
def global_max_pool2d_check(expr: Any) -> bool:
    """Whether maxima of pictures are taken."""
    return _pool(expr)


@taken_by(_NAME, "nn.global_avg_pool2d")
def global_avg_pool2d_check(expr: Any) -> bool:
    """Whether means of pictures are taken."""
    return _pool(expr)


@taken_by(_NAME, "nn.conv2d")
def conv2d_check(expr: Any) -> bool:
    """Whether a convolution is taken: one picture, NCHW, weights that are known."""
    attrs, (data, kernel) = expr.attrs, expr.args
    shapes = [arg.checked_type.shape for arg in expr.args]
    if not isinstance(kernel, Constant):
        return False
    if any(len(shape) != 4 for shape in shapes) or int(shapes[0][0]) != 1:
        return False
    floats = _is_float(data) and _is_float(kernel) and dtype_is_supported(str(attrs.out_dtype))
    return floats and attrs.data_layout == "NCHW" and bool(attrs.kernel_layout == "OIHW")


def bias_check(expr: Any) -> bool:
    """Whether what is added is a number for each channel, of float32."""
    attrs, bias = expr.attrs, expr.args[1]
    shape = [int(extent) for extent in bias.checked_type.shape]
    if not isinstance(bias, Constant) or not _is_float(bias):
        return False
    if expr.op.name == "nn.bias_add":
        return int(attrs.axis) in (1, 2)
    rank = len(expr.args[0].checked_type.shape)
    own = [1] * (rank - len(shape)) + shape
    channel = 1 if rank == 4 else rank - 1
    return all(extent == 1 for at, extent in enumerate(own) if at != channel)


@taken_by(_NAME, "nn.dense")
def dense(expr: Any) -> bool:
    """Whether a product is taken: of float32, with weights that are known."""
    data, kernel = expr.args
    floats = _is_float(data) and _is_float(kernel)
    matrix = len(kernel.checked_type.shape) == 2
    known = matrix and isinstance(kernel, Constant)
    return floats and known and dtype_is_supported(str(expr.attrs.out_dtype))


@taken_by(_NAME, "nn.instance_norm")
def instance_norm_check(expr: Any) -> bool:
    """Whether a norm is taken: of pictures of float32, channels first."""
    rank = len(expr.args[0].checked_type.shape)
    return rank in (3, 4) and _is_float(expr.args[0]) and int(expr.attrs.axis) == 1


# --- patterns ---


def make_conv_pattern(with_bias: bool = True, activation: str = "none") -> DFPattern:
    """A convolution, with a bias and "relu" or "sigmoid" of it, or without."""
    made: DFPattern = is_op("nn.conv2d")(wildcard(), wildcard())
    if with_bias:
        bias = wildcard()
        made = is_op("nn.bias_add")(made, bias) | is_op("add")(made, bias)
    if activation == "relu":
        return is_op("nn.relu")(made)
    return is_op("sigmoid")(made) if activation == "sigmoid" else made


def check_conv(extract: Any) -> bool:
    """Whether a match that begins with a convolution is taken."""
    call = extract
    while call.op.name != "nn.conv2d":
        if call.op.name in ("nn.bias_add", "add") and not bias_check(call):
            return False
        call = call.args[0]
    return conv2d_check(call)


def make_dense_bias_pattern() -> DFPattern:
    """A product and a bias."""
    return is_op("add")(is_op("nn.dense")(wildcard(), wildcard()), wildcard())


def make_dense_bias_gelu_pattern() -> DFPattern:
    """A product, a bias, and gelu of them as importers write it."""
    summed = make_dense_bias_pattern()
    scaled = is_op("multiply")(summed, is_expr(const(sqrt(0.5), "float32")) | is_constant())
    half = is_op("multiply")(is_op("erf")(scaled), is_constant())
    return is_op("multiply")(is_op("add")(is_constant(), half), summed)


def check_dense(extract: Any) -> bool:
    """Whether a match that begins with a product is taken."""
    return dense(root_call(extract, "nn.dense"))


@register_pattern_table("bnns")
def pattern_table() -> list[tuple[str, DFPattern, Callable[[Any], bool]]]:
    """The larger patterns first."""
    return [
        ("bnns.conv2d_bias_relu", make_conv_pattern(True, "relu"), check_conv),
        ("bnns.conv2d_relu", make_conv_pattern(False, "relu"), check_conv),
        ("bnns.conv2d_bias_sigmoid", make_conv_pattern(True, "sigmoid"), check_conv),
        ("bnns.conv2d_sigmoid", make_conv_pattern(False, "sigmoid"), check_conv),
        ("bnns.conv2d_bias", make_conv_pattern(True), check_conv),
        ("bnns.dense_bias_gelu", make_dense_bias_gelu_pattern(), check_dense),
        ("bnns.dense_bias", make_dense_bias_pattern(), check_dense),
    ]
