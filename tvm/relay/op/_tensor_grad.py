"""A door: gradients of operators, `log_grad(orig, grad)` and so on; see `gradients`."""

from . import gradients as gradients  # it sets them
from .rules_by_name import rules_by_name

_PLAIN = (
    "abs", "acos", "acosh", "add", "arange", "asin", "asinh", "atan", "atanh", "cast",
    "cast_like", "clip", "collapse_sum_like", "collapse_sum_to", "concatenate", "copy", "cos",
    "cosh", "divide", "erf", "exp", "expand_dims", "gather_nd", "less_equal", "log", "log10",
    "log2", "max", "mean", "multiply", "negative", "not_equal", "one_hot", "ones",
    "ones_like", "reshape", "reshape_like", "shape_of", "sigmoid", "sin", "sinh", "sqrt",
    "squeeze", "stack", "strided_slice", "subtract", "sum", "take", "tan", "tanh",
    "transpose", "variance", "where", "zeros", "zeros_like",
)  # fmt: skip
_NN = (
    "avg_pool2d", "batch_flatten", "batch_matmul", "bias_add", "conv2d", "cross_entropy",
    "cross_entropy_with_logits", "dense", "global_avg_pool2d", "log_softmax", "matmul",
    "max_pool2d", "relu", "softmax",
)  # fmt: skip
_OTHER = {
    "dyn_ones_grad": "dyn.ones", "dyn_reshape_grad": "dyn.reshape", "dyn_zeros_grad": "dyn.zeros",
    "reverse_reshape_grad": "contrib_reverse_reshape",
}  # fmt: skip

__getattr__ = rules_by_name(
    __name__,
    "FPrimalGradient",
    {
        **{f"{name}_grad": name for name in _PLAIN},
        **{f"{name}_grad": f"nn.{name}" for name in _NN},
        **_OTHER,
    },
)
