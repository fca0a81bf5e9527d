"""Which operators a program computes in a narrow float type, and how users change that.

A rule `f(call, narrow dtype) -> [kind, dtype of sums, dtype of the result]` hangs on an operator.
The kind is one of three: ALWAYS narrow (products), FOLLOW (narrow where all operands are), NEVER.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tvm.ir.op import DERIVED, Op
from tvm.relay.expr import Call
from tvm.relay.op.op import register_mixed_precision_conversion

MIXED_PRECISION_ALWAYS: Final = 0
MIXED_PRECISION_FOLLOW: Final = 1
MIXED_PRECISION_NEVER: Final = 2

Rule = Callable[[Call, str], list[Any]]

# Products: where the time goes, and what hardware has narrow units for.
DEFAULT_ALWAYS_LIST: Final = [
    "nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv1d_transpose", "nn.conv2d_transpose",
    "nn.conv3d_transpose", "nn.dense", "nn.batch_matmul",
]  # fmt: skip
# Neither quicker nor much less exact: no reason for a cast.
DEFAULT_FOLLOW_LIST: Final = [
    # moved elements
    "nn.pad", "nn.batch_flatten", "concatenate", "zeros", "split", "squeeze", "transpose",
    "expand_dims", "reshape", "dyn.reshape", "broadcast_to_like", "dyn.broadcast_to",
    "strided_slice", "dyn.strided_slice", "take", "argwhere", "where", "image.resize2d", "full",
    "dyn.full", "tile", "dyn.tile", "copy", "cast", "cast_like", "nn.depth_to_space",
    "scatter_elements", "scatter_nd",
    # comparisons
    "less", "greater", "less_equal", "greater_equal",
    # arithmetic and activations
    "add", "subtract", "multiply", "divide", "nn.bias_add", "nn.batch_norm", "sqrt", "shape_of",
    "max", "min", "maximum", "minimum", "argmax", "argmin", "nn.relu", "nn.leaky_relu",
    "nn.prelu", "nn.dropout", "sigmoid", "tanh", "fast_tanh", "fast_exp", "fast_erf", "clip",
    # pools
    "nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d", "nn.avg_pool1d", "nn.avg_pool2d",
    "nn.avg_pool3d", "nn.global_max_pool2d", "nn.adaptive_max_pool1d", "nn.adaptive_max_pool2d",
    "nn.adaptive_max_pool3d",
]  # fmt: skip
# Results that are much larger than the operands, ends of ranges, and sums over many elements.
DEFAULT_NEVER_LIST: Final = [
    "exp", "power", "nn.cross_entropy", "nn.cross_entropy_with_logits", "nn.softmax",
    "nn.l2_normalize", "erf", "arange", "nn.global_avg_pool2d", "nn.adaptive_avg_pool1d",
    "nn.adaptive_avg_pool2d", "nn.adaptive_avg_pool3d", "sum", "mean", "variance",
    "nn.layer_norm",
]  # fmt: skip


def register_func_to_op_list(list_ops: Sequence[str]) -> Callable[[Rule], Rule]:
    """Decorate a rule: it becomes the rule of each of these operators."""

    def decorate(func: Rule) -> Rule:
        for op_name in list_ops:
            register_mixed_precision_conversion(op_name, func=func)
        return func

    return decorate


def get_generic_out_dtypes(call_node: Call, mixed_precision_type: str) -> list[str]:
    """The dtype in which a narrow call sums, and that of its result."""
    return [mixed_precision_type, mixed_precision_type]


def generic_always_op(call_node: Call, mixed_precision_type: str) -> list[Any]:
    """The rule of operators that are always narrow."""
    return [MIXED_PRECISION_ALWAYS, *get_generic_out_dtypes(call_node, mixed_precision_type)]


def generic_follow_op(call_node: Call, mixed_precision_type: str) -> list[Any]:
    """The rule of operators that are narrow where their operands are."""
    return [MIXED_PRECISION_FOLLOW, *get_generic_out_dtypes(call_node, mixed_precision_type)]


def generic_never_op(call_node: Call, mixed_precision_type: str) -> list[Any]:
    """The rule of operators that are never narrow."""
    return [MIXED_PRECISION_NEVER, *get_generic_out_dtypes(call_node, mixed_precision_type)]


_DEFAULT: Final[dict[str, Rule]] = {
    **dict.fromkeys(DEFAULT_ALWAYS_LIST, generic_always_op),
    **dict.fromkeys(DEFAULT_FOLLOW_LIST, generic_follow_op),
    **dict.fromkeys(DEFAULT_NEVER_LIST, generic_never_op),
}


def rule_of(op: Op) -> Rule | None:
    """What hangs on an operator, or else its category in the lists."""
    found: Rule | None = op.own_attr("FTVMMixedPrecisionConversionType")
    return _DEFAULT.get(op.name) if found is None else found


DERIVED["FTVMMixedPrecisionConversionType"] = rule_of
