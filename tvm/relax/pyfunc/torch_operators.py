"""Relax's operators in torch: their names there, and calls of them on torch's tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tvm.relax.py_tensors import is_torch, torch

from .torch_nn_rules import NN_RULES
from .torch_rules import RULES

# Operators of tensors alone, under the same name or another one.
_PLAIN: Final = {
    "abs": "abs", "acos": "acos", "acosh": "acosh", "add": "add", "asin": "asin", "asinh": "asinh",
    "atan": "atan", "atanh": "atanh", "bitwise_and": "bitwise_and", "bitwise_not": "bitwise_not",
    "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor", "ceil": "ceil", "cos": "cos",
    "cosh": "cosh", "equal": "eq", "erf": "erf", "exp": "exp", "floor": "floor",
    "floor_divide": "floor_divide", "floor_mod": "remainder", "greater": "gt",
    "greater_equal": "ge", "isfinite": "isfinite", "isinf": "isinf", "isnan": "isnan",
    "left_shift": "bitwise_left_shift", "less": "lt", "less_equal": "le", "log": "log",
    "log_add_exp": "logaddexp", "logical_and": "logical_and", "logical_not": "logical_not",
    "logical_or": "logical_or", "logical_xor": "logical_xor", "matmul": "matmul",
    "maximum": "maximum", "minimum": "minimum", "mod": "fmod", "multiply": "mul",
    "negative": "neg", "not_equal": "ne", "outer": "outer", "power": "pow",
    "right_shift": "bitwise_right_shift", "round": "round", "rsqrt": "rsqrt",
    "sigmoid": "sigmoid", "sign": "sign", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt",
    "square": "square", "subtract": "sub", "tan": "tan", "tanh": "tanh", "trunc": "trunc",
    "where": "where", "nn.gelu": "nn.functional.gelu", "nn.relu": "nn.functional.relu",
    "nn.relu6": "nn.functional.relu6", "nn.selu": "nn.functional.selu",
    "nn.silu": "nn.functional.silu",
}  # fmt: skip
# Those whose options are said in another way; each has its rule.
_WITH_RULES: Final = {
    "arange": "arange", "argmax": "argmax", "argmin": "argmin", "argsort": "argsort",
    "astype": "Tensor.to", "broadcast_to": "broadcast_to", "bucketize": "bucketize",
    "clip": "clamp", "concat": "cat", "cumprod": "cumprod", "cumsum": "cumsum",
    "dequantize": "dequantize", "divide": "div", "dynamic_strided_slice": "Tensor.__getitem__",
    "einsum": "einsum", "ewise_fma": "addcmul", "expand_dims": "unsqueeze", "eye": "eye",
    "eye_like": "eye", "flatten": "flatten", "flip": "flip", "full": "full",
    "full_like": "full_like", "gather_elements": "gather", "gather_nd": "Tensor.__getitem__",
    "hamming_window": "hamming_window", "index_put": "index_put",
    "index_tensor": "Tensor.__getitem__", "layout_transform": "take",
    "linear": "nn.functional.linear", "masked_fill": "masked_fill", "max": "amax", "mean": "mean",
    "meshgrid": "meshgrid", "min": "amin", "multinomial_from_uniform": "searchsorted",
    "nonzero": "nonzero", "one_hot": "nn.functional.one_hot", "ones": "ones",
    "ones_like": "ones_like", "permute_dims": "permute", "prod": "prod",
    "quantize": "quantize_per_channel", "repeat": "repeat_interleave", "reshape": "reshape",
    "roll": "roll", "rot90": "rot90", "scatter_elements": "scatter", "scatter_nd": "index_put",
    "slice_scatter": "slice_scatter", "sort": "sort", "split": "tensor_split",
    "squeeze": "squeeze", "stack": "stack", "std": "std", "strided_slice": "Tensor.__getitem__",
    "sum": "sum", "take": "index_select", "tile": "tile", "topk": "topk", "tril": "tril",
    "triu": "triu", "unique": "unique", "variance": "var", "zeros": "zeros",
    "zeros_like": "zeros_like",
}  # fmt: skip
_WITH_NN_RULES: Final = {
    "attention": "scaled_dot_product_attention", "conv1d_transpose": "conv_transpose1d",
    "conv2d_transpose": "conv_transpose2d", "conv3d_transpose": "conv_transpose3d",
    "cross_entropy_with_logits": "cross_entropy", "gelu_tanh": "gelu",
    "leakyrelu": "leaky_relu", **{name: name for name in (
        "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "avg_pool1d",
        "avg_pool2d", "avg_pool3d", "batch_norm", "conv1d", "conv2d", "conv3d", "dropout",
        "group_norm", "instance_norm", "layer_norm", "linear", "log_softmax", "max_pool1d",
        "max_pool2d", "max_pool3d", "nll_loss", "pad", "pixel_shuffle", "prelu", "rms_norm",
        "softmax", "softplus",
    )},
}  # fmt: skip
# Words of the language itself, which the converter knows under the same names.
_LANGUAGE: Final = (
    "assert_op", "call_builtin_with_ctx", "call_dps_packed", "call_inplace_packed",
    "call_pure_packed", "call_py_func", "call_tir", "call_tir_inplace", "call_tir_with_grad",
    "hint_on_device", "invoke_closure", "invoke_pure_closure", "make_closure", "null_value",
    "print", "shape_of", "shape_to_tensor", "tensor_to_shape", "to_vdevice", "wrap_param",
)  # fmt: skip

OPERATOR_MAP: Final[dict[str, str]] = {
    **{f"relax.{name}": f"torch.{target}" for name, target in (_PLAIN | _WITH_RULES).items()},
    **{f"relax.nn.{name}": f"torch.nn.functional.{t}" for name, t in _WITH_NN_RULES.items()},
    **{f"relax.{name}": name for name in _LANGUAGE},
}
_ALL_RULES: Final = RULES | {f"nn.{name}": rule for name, rule in NN_RULES.items()}


def torch_call(
    name: str, operator_map: Mapping[str, str], args: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """The result of an operator on torch's tensors; None where numpy's meaning has to do."""
    library = torch()
    short = name.removeprefix("relax.")
    rule = _ALL_RULES.get(short)
    if rule is not None:
        return rule(library, list(args), dict(options))
    target = operator_map.get(name, "")
    if not target.startswith("torch.") or not all(is_torch(arg) for arg in args):
        return None
    if any(value not in (None, "", ()) and str(value) != "void" for value in options.values()):
        return None
    func: Any = library
    for part in target.removeprefix("torch.").split("."):
        func = getattr(func, part)
    return func(*args)
