"""Inputs for every operator: shapes, dtypes and options of its calls.

A case makes a call of the operator. `t(2, "n", 4)` is a float tensor, a name is a symbol; `t(3,
dtype="int32", high=5)` has integers below 5. What a case does not say follows from the declaration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tvm import relax, tir
from tvm.relax import op
from tvm.relax.numpy_dtype import numpy_dtype
from tvm.support.dtype import DataType

# What symbols are when a case runs.
SYMBOLS = {"n": 3, "m": 4, "k": 5}


class Tensor(NamedTuple):
    """An operand: its extents (a name is a symbol), dtype, and the range of its values."""

    shape: tuple[int | str, ...]
    dtype: str
    low: float
    high: float

    def array(self, rng: np.random.Generator) -> np.ndarray[Any, Any]:
        """Values for the operand."""
        extents = [SYMBOLS[e] if isinstance(e, str) else e for e in self.shape]
        if self.dtype == "bool":
            return rng.integers(0, 2, extents).astype(bool)
        kind = numpy_dtype(DataType(self.dtype))
        if DataType(self.dtype).is_integer:
            return rng.integers(int(self.low), int(self.high), extents).astype(kind)
        return rng.uniform(self.low, self.high, extents).astype(kind)


def t(
    *shape: int | str, dtype: str = "float32", low: float | None = None, high: float | None = None
) -> Tensor:
    """An operand tensor."""
    if high is None:
        high = 3 if low is None else low + 6
    return Tensor(shape, dtype, -3 if low is None else low, high)


class Case(NamedTuple):
    """A call of an operator with operands made of `tensors`."""

    op: str
    build: Callable[..., Any]
    tensors: tuple[Tensor, ...]
    tolerance: float

    def __str__(self) -> str:
        shapes = "-".join("x".join(map(str, x.shape)) or "scalar" for x in self.tensors)
        return f"{self.op}-{shapes}"


CASES: list[Case] = []


def case(
    name: str, build: Callable[..., Any], *tensors: Tensor, tolerance: float = 1e-5
) -> None:
    """Add a case for the operator `name`."""
    CASES.append(Case(name, build, tensors, tolerance))


X = t(2, "n", 4)

for _name in (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "exp",
    "floor", "log", "negative", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan",
    "tanh", "trunc", "erf", "isfinite", "isinf", "isnan", "square",
):  # fmt: skip
    _range = {
        "acos": (-0.9, 0.9), "asin": (-0.9, 0.9), "atanh": (-0.9, 0.9), "acosh": (1.1, 4),
        "log": (0.1, 3), "sqrt": (0.1, 3), "rsqrt": (0.1, 3), "tan": (-1, 1),
    }.get(_name, (-3, 3))  # fmt: skip
    case(_name, getattr(op, _name), t(2, "n", 4, low=_range[0], high=_range[1]))
case("abs", op.abs, t(3, 4, dtype="int32", low=-5))
case("bitwise_not", op.bitwise_not, t(3, 4, dtype="int32"))
case("logical_not", op.logical_not, t(3, 4, dtype="bool"))
case("clip", lambda x: op.clip(x, -1.0, 1.5), X)
case("clip", lambda x: op.clip(x, -1, 2), t(5, dtype="uint8"))  # limits beyond the type
case("clip", lambda x: op.clip(x, -1, 300), t(5, dtype="uint8"))

for _name in (
    "add", "subtract", "multiply", "maximum", "minimum", "equal", "not_equal", "less",
    "less_equal", "greater", "greater_equal",
):  # fmt: skip
    case(_name, getattr(op, _name), X, t("n", 1))
    case(_name, getattr(op, _name), t(4, dtype="int32"), t(3, 1, dtype="int32"))
case("add", lambda x: op.add(x, relax.PrimValue(tir.const(2.5, "float32"))), X)
case("divide", op.divide, X, t(4, low=0.5, high=2))
case("floor_divide", op.floor_divide, X, t(4, low=0.5, high=2))
case("divide", op.divide, t(8, dtype="int32", low=-9, high=9), t(8, dtype="int32", low=1, high=4))
case("floor_divide", op.floor_divide, t(8, dtype="int32", low=-9, high=9),
     t(8, dtype="int32", low=1, high=4))  # fmt: skip
case("mod", op.mod, t(8, dtype="int32", low=-9, high=9), t(8, dtype="int32", low=1, high=4))
case("floor_mod", op.floor_mod, t(8, dtype="int32", low=-9, high=9),
     t(8, dtype="int32", low=1, high=4))  # fmt: skip
case("log_add_exp", op.log_add_exp, X, X)
case("power", op.power, t(3, 4, low=0.2, high=2), t(4))
for _name in (
    "logical_and", "logical_or", "logical_xor",
):  # fmt: skip
    case(_name, getattr(op, _name), t(3, 4, dtype="bool"), t(4, dtype="bool"))
for _name in (
    "bitwise_and", "bitwise_or", "bitwise_xor",
):  # fmt: skip
    case(_name, getattr(op, _name), t(3, 4, dtype="int32", low=0, high=9),
         t(4, dtype="int32", low=0))  # fmt: skip
for _name in (
    "left_shift", "right_shift",
):  # fmt: skip
    case(_name, getattr(op, _name), t(3, 4, dtype="int32", low=1, high=99),
         t(4, dtype="int32", low=0, high=4))  # fmt: skip
case("ewise_fma", op.ewise_fma, X, X, X)
case("where", op.where, t("n", 4, dtype="bool"), t("n", 1), t(4))

for _name in (
    "sum", "mean", "max", "min", "prod", "std", "variance",
):  # fmt: skip
    case(_name, lambda x, name=_name: getattr(op, name)(x, axis=[0, 2]), X, tolerance=1e-4)
    case(_name, lambda x, name=_name: getattr(op, name)(x, axis=-1, keepdims=True), X,
         tolerance=1e-4)  # fmt: skip
    case(_name, getattr(op, _name), t(3, 4), tolerance=1e-4)
    if _name != "std":  # which has no slope where there is no deviation
        case(_name, getattr(op, _name), t())
for _name in (
    "argmax", "argmin",
):  # fmt: skip
    case(_name, lambda x, name=_name: getattr(op, name)(x, axis=1), X)
    case(_name, lambda x, name=_name: getattr(op, name)(x, axis=-1, keepdims=True), X)
    case(_name, getattr(op, _name), t(3, 4))
for _name in (
    "cumsum", "cumprod",
):  # fmt: skip
    case(_name, lambda x, name=_name: getattr(op, name)(x, axis=1), X, tolerance=1e-4)
    case(_name, getattr(op, _name), t(3, 4), tolerance=1e-4)
    case(_name, lambda x, name=_name: getattr(op, name)(x, axis=0, exclusive=True), t(4, 2))
case("cumsum", lambda x: op.cumsum(x, axis=0, dtype="int64"), t(4, 2, dtype="int32"))
case("sort", lambda x: op.sort(x, axis=1), X)
case("sort", lambda x: op.sort(x, axis=-1, descending=True), t(3, 5))
case("argsort", lambda x: op.argsort(x, axis=1), t(2, 6))
case("argsort", lambda x: op.argsort(x, axis=0, descending=True, dtype="int64"), t(6, 2))
case("topk", lambda x: op.topk(x, k=2, axis=1), t(2, 6))
case("topk", lambda x: op.topk(x, 3, 0, "values", largest=False), t(6, 2))
case("bucketize", lambda x: op.bucketize(x, relax.const(np.float32([-1, 0, 1, 2]))), X)

case("matmul", op.matmul, t("n", 4), t(4, "m"))
case("matmul", op.matmul, t(2, 1, 3, 4), t(5, 4, 6), tolerance=1e-4)
case("matmul", op.matmul, t(4), t(2, 4, 3))
case("matmul", op.matmul, t(2, 3, 4), t(4))
case("matmul", lambda a, b: op.matmul(a, b, out_dtype="int32"), t(3, 4, dtype="int8"),
     t(4, 5, dtype="int8"))  # fmt: skip
case("einsum", lambda a, b: op.einsum((a, b), "ij,jk->ik"), t(3, 4), t(4, 5), tolerance=1e-4)
case("outer", op.outer, t("n"), t(4))

case("broadcast_to", lambda x: op.broadcast_to(x, (2, 3, 4)), t(3, 1))
case("reshape", lambda x: op.reshape(x, (-1, 8)), t("n", 4, 2))
case("reshape", lambda x: op.reshape(x, (4, 0, 1)), t(2, 6, 2))
case("flatten", op.flatten, X)
case("expand_dims", lambda x: op.expand_dims(x, [0, -1]), t("n", 4))
case("squeeze", lambda x: op.squeeze(x, [1]), t("n", 1, 4, 1))
case("squeeze", op.squeeze, t(3, 1, 4, 1))
case("permute_dims", lambda x: op.permute_dims(x, [2, 0, 1]), X)
case("permute_dims", op.permute_dims, X)
case("concat", lambda a, b: op.concat((a, b), axis=1), t(2, "n", 3), t(2, 4, 3))
case("concat", lambda a, b: op.concat((a, b, a)), t("n", 3), t("m", 3))
case("stack", lambda a, b: op.stack((a, b), axis=1), t("n", 3), t("n", 3))
case("split", lambda x: op.split(x, 3, axis=1), t(2, 7))
case("split", lambda x: op.split(x, [2, 5], axis=-1), t("n", 7))
case("repeat", lambda x: op.repeat(x, 2, 1), X)
case("repeat", lambda x: op.repeat(x, 3), t(2, 3))
case("tile", lambda x: op.tile(x, (2, 1, 3)), t("n", 4))
case("flip", lambda x: op.flip(x, 1), X)
case("meshgrid", lambda a, b: op.meshgrid((a, b)), t("n"), t(4))
case("layout_transform", lambda x: op.layout_transform(x, lambda i, j: (i // 4, j, i % 4)), t(8, 6))
case("layout_transform",
     lambda x: op.layout_transform(x, lambda i: (i // 4, i % 4), pad_value=2.5), t(10))  # fmt: skip
case("one_hot", lambda i: op.one_hot(i, relax.PrimValue(tir.const(1.0, "float32")),
                                     relax.PrimValue(tir.const(0.0, "float32")), 5, 1),
     t(2, 3, dtype="int64", low=0, high=5))  # fmt: skip

case("take", lambda x, i: op.take(x, i, axis=1), X, t(3, 2, dtype="int64", low=0, high=3))
case("take", op.take, t(6), t(4, dtype="int32", low=0, high=6))
case("take", lambda x: op.take(x, relax.PrimValue(1), axis=1), X)
case("strided_slice", lambda x: op.strided_slice(x, [0, 2], [0, 3], [1, 0], [1, -2]), t(3, "n", 4))
case("strided_slice", lambda x: op.strided_slice(x, [0], [1], [-1]), t(6, 2))
case("gather_elements", lambda x, i: op.gather_elements(x, i, 1), t(3, 4),
     t(3, 2, dtype="int64", low=0, high=4))  # fmt: skip
case("gather_nd", op.gather_nd, t(3, 4, 2), t(5, 2, dtype="int64", low=0, high=3))
case("gather_nd", lambda x, i: op.gather_nd(x, i, 1), t(2, 4, 3),
     t(2, 5, 1, dtype="int64", low=0, high=4))  # fmt: skip
case("index_tensor", lambda x, i, j: op.index_tensor(x, (i, j)), t(3, 4, 2),
     t(5, 1, dtype="int64", low=0, high=3), t(2, dtype="int64", low=0, high=4))  # fmt: skip
case("index_put", lambda x, i, v: op.index_put(x, (i,), v, accumulate=True), t(6),
     t(4, dtype="int64", low=0, high=6), t(4))  # fmt: skip
case("scatter_elements", lambda x, i, u: op.scatter_elements(x, i, u, 1, "add"), t(3, 4),
     t(3, 2, dtype="int64", low=0, high=4), t(3, 2))  # fmt: skip
case("scatter_nd", lambda x, i, u: op.scatter_nd(x, i, u, "add"), t(6, 2),
     t(3, 1, dtype="int64", low=0, high=6), t(3, 2))  # fmt: skip
case("slice_scatter", lambda x, s: op.slice_scatter(x, s, 1, 6, 2, axis=0), t(7, 2), t(3, 2))
case("collapse_sum_to", lambda x: op.collapse_sum_to(x, (3, 1)), t(2, 3, 4), tolerance=1e-4)
case("collapse_sum_like", op.collapse_sum_like, t(2, 3, 4), t(3, 1), tolerance=1e-4)

case("full", lambda v: op.full((2, 3), v, "float32"), t())
case("full_like", op.full_like, X, t())
case("ones", lambda: op.ones((2, 3), "int32"))
case("zeros", lambda: op.zeros((2, 3), "float32"))
case("ones_like", op.ones_like, X)
case("zeros_like", lambda x: op.zeros_like(x, "int32"), X)
case("eye", lambda: op.eye(3, 4, 1))
case("eye_like", lambda x: op.eye_like(x, -1), t(3, 4))
case("arange", lambda: op.arange(1, 10, 3))
case("arange", lambda: op.arange(5.0))
case("hamming_window", lambda: op.hamming_window(6, True, 0.54, 0.46, "float32"))
case("tril", lambda x: op.tril(x, 1), X)
case("triu", lambda x: op.triu(x, -1), X)
case("astype", lambda x: op.astype(x, "int32"), X)
case("astype", lambda x: op.astype(x, "float16"), X)
case("wrap_param", lambda x: op.wrap_param(x, "float32"), t(3, 4, dtype="float16"))

IMAGE = t("n", 4, 7, 8)
case("nn.conv1d", lambda x, w: op.nn.conv1d(x, w, strides=2, padding=(1, 2)), t("n", 4, 9),
     t(6, 4, 3), tolerance=1e-4)  # fmt: skip
case("nn.conv2d", lambda x, w: op.nn.conv2d(x, w, padding=1), IMAGE, t(6, 4, 3, 3), tolerance=1e-4)
case("nn.conv2d", lambda x, w: op.nn.conv2d(x, w, (2, 1), (0, 1, 2, 0), (1, 2), groups=2), IMAGE,
     t(6, 2, 3, 2), tolerance=1e-4)  # fmt: skip
case("nn.conv2d", lambda x, w: op.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="HWIO"),
     t(1, 6, 6, 4), t(3, 3, 4, 5), tolerance=1e-4)  # fmt: skip
case("nn.conv3d", lambda x, w: op.nn.conv3d(x, w, padding=1), t(1, 2, 4, 4, 4), t(3, 2, 3, 3, 3),
     tolerance=1e-4)  # fmt: skip
case("nn.conv3d", lambda x, w: op.nn.conv3d(x, w, (2, 1, 3), (1, 0, 2, 0, 1, 1), (1, 2, 1), 2),
     t(1, 4, 5, 6, 7), t(4, 2, 2, 2, 3), tolerance=1e-4)  # fmt: skip
case("nn.conv1d_transpose", lambda x, w: op.nn.conv1d_transpose(x, w, 2, 1, 1), t(1, 4, 5),
     t(4, 3, 3), tolerance=1e-4)  # fmt: skip
case("nn.conv2d_transpose", lambda x, w: op.nn.conv2d_transpose(x, w, (2, 2), (1, 1), (1, 1)),
     t(1, 4, 4, 4), t(4, 3, 3, 3), tolerance=1e-4)  # fmt: skip
case("nn.max_pool1d", lambda x: op.nn.max_pool1d(x, 3, 2, 1), t("n", 4, 9))
case("nn.max_pool2d", lambda x: op.nn.max_pool2d(x, (3, 2), (2, 2), (1, 0)), IMAGE)
case("nn.max_pool2d", lambda x: op.nn.max_pool2d(x, (2, 2), (2, 2), ceil_mode=True), IMAGE)
case("nn.max_pool3d", lambda x: op.nn.max_pool3d(x, 2, 2), t(1, 2, 4, 4, 4))
case("nn.avg_pool1d", lambda x: op.nn.avg_pool1d(x, 3, 2, 1), t("n", 4, 9))
case("nn.avg_pool2d", lambda x: op.nn.avg_pool2d(x, (3, 3), (2, 2), (1, 1)), IMAGE)
case("nn.avg_pool2d", lambda x: op.nn.avg_pool2d(x, (3, 3), padding=1, count_include_pad=True),
     IMAGE)  # fmt: skip
case("nn.avg_pool3d", lambda x: op.nn.avg_pool3d(x, 2, 2), t(1, 2, 4, 4, 4))
case("nn.max_pool3d", lambda x: op.nn.max_pool3d(x, (2, 3, 2), (2, 1, 2), 1), t(1, 2, 4, 5, 4))
case("nn.avg_pool3d", lambda x: op.nn.avg_pool3d(x, (2, 3, 2), (2, 1, 2), 1), t(1, 2, 4, 5, 4))
case("nn.avg_pool3d",
     lambda x: op.nn.avg_pool3d(x, (2, 3, 2), (2, 1, 2), 1, ceil_mode=True, count_include_pad=True),
     t(1, 2, 4, 5, 4))  # fmt: skip
case("nn.adaptive_avg_pool1d", lambda x: op.nn.adaptive_avg_pool1d(x, 3), t("n", 4, 8))
case("nn.adaptive_avg_pool2d", lambda x: op.nn.adaptive_avg_pool2d(x, (3, 1)), IMAGE)
case("nn.adaptive_avg_pool3d", lambda x: op.nn.adaptive_avg_pool3d(x, 2), t(1, 2, 4, 4, 5))
for _name in (
    "relu", "relu6", "gelu", "gelu_tanh", "selu", "silu", "softplus", "leakyrelu",
):  # fmt: skip
    case(f"nn.{_name}", getattr(op.nn, _name), X)
case("nn.prelu", op.nn.prelu, t("n", 4, 3), t(4))
case("nn.prelu", op.nn.prelu, t("n", 4, 3), t(1))
case("nn.softmax", op.nn.softmax, X)
case("nn.softmax", lambda x: op.nn.softmax(x, axis=1), X)
case("nn.log_softmax", op.nn.log_softmax, X)
case("nn.log_softmax", lambda x: op.nn.log_softmax(x, axis=1), X)
case("nn.dropout", op.nn.dropout, X)
case("nn.batch_norm", lambda *a: op.nn.batch_norm(*a, axis=1, training=False), IMAGE, t(4), t(4),
     t(4), t(4, low=0.5, high=2), tolerance=1e-4)  # fmt: skip
case("nn.batch_norm", lambda *a: op.nn.batch_norm(*a, axis=1), t(2, 4, 5, 5), t(4), t(4), t(4),
     t(4, low=0.5, high=2), tolerance=1e-3)  # fmt: skip
case("nn.layer_norm", lambda *a: op.nn.layer_norm(*a, axes=[-1]), X, t(4), t(4), tolerance=1e-4)
case("nn.group_norm", lambda *a: op.nn.group_norm(*a, 2, 1, [2, 3]), t(2, 4, 3, 3), t(4), t(4),
     tolerance=1e-4)  # fmt: skip
case("nn.instance_norm", lambda *a: op.nn.instance_norm(*a, 1, [2, 3]), t(2, 4, 3, 3), t(4), t(4),
     tolerance=1e-4)  # fmt: skip
case("nn.rms_norm", op.nn.rms_norm, X, t(4), tolerance=1e-4)
case("nn.attention", op.nn.attention, t(2, 3, 2, 4), t(2, 5, 2, 4), t(2, 5, 2, 6), tolerance=1e-4)
case("nn.attention", lambda *a: op.nn.attention(*a, causal_mask="TopLeft"), t(1, 4, 2, 4),
     t(1, 4, 2, 4), t(1, 4, 2, 4), tolerance=1e-4)  # fmt: skip
case("nn.attention_bias", op.nn.attention, t(1, 3, 2, 4), t(1, 5, 2, 4), t(1, 5, 2, 4),
     t(1, 2, 3, 5), tolerance=1e-4)  # fmt: skip
for _mask in (None, "TopLeft", "BottomRight"):
    case("nn.attention_var_len",
         lambda q, k, v, m=_mask: op.nn.attention_var_len(
             q, k, v, relax.const([0, 2, 5], "int32"), relax.const(3, "int32"),
             relax.const([0, 3, 6], "int32"), relax.const(3, "int32"), causal_mask=m),
         t(1, 5, 2, 4), t(1, 6, 2, 4), t(1, 6, 2, 3), tolerance=1e-4)  # fmt: skip
case("nn.cross_entropy_with_logits", op.nn.cross_entropy_with_logits, t(3, 4), t(3, 4),
     tolerance=1e-4)  # fmt: skip
case("nn.nll_loss", lambda p, i: op.nn.nll_loss(p, i), t(3, 4),
     t(3, dtype="int64", low=0, high=4), tolerance=1e-4)  # fmt: skip
case("nn.nll_loss", lambda p, i, w: op.nn.nll_loss(p, i, w, "none", 1), t(2, 4, 3),
     t(2, 3, dtype="int64", low=0, high=4), t(4, low=0.1, high=1), tolerance=1e-4)  # fmt: skip
case("nn.pad", lambda x: op.nn.pad(x, [0, 0, 1, 2, 0, 3], pad_value=1.5), X)
for _widths in ([-1, 2, 3, -4], [-5, 6, 0, -2]):
    case("nn.pad", lambda x, w=_widths: op.nn.pad(x, w, pad_value=1.5), t(4, 5))
for _mode in ("reflect", "replicate", "circular"):
    case("nn.pad", lambda x, m=_mode: op.nn.pad(x, [1, 1, 2, 1], m), t(4, 5))
    case("nn.pad", lambda x, m=_mode: op.nn.pad(x, [0, 2, 1, 0], m), t("m", 3))
case("nn.pixel_shuffle", lambda x: op.nn.pixel_shuffle(x, 2), t("n", 8, 2, 3))

for _mode in ("half_pixel", "align_corners", "asymmetric"):
    for _method in ("nearest_neighbor", "linear", "cubic"):
        case("image.resize2d",
             lambda x, m=_method, c=_mode: op.image.resize2d(
                 x, (5, 6), method=m, coordinate_transformation_mode=c, rounding_method="floor"),
             t(1, 2, 3, 4), tolerance=1e-4)  # fmt: skip
case("quantize", lambda x, s, z: op.quantize(x, s, z, axis=1), t("n", 4), t(4, low=0.02, high=0.1),
     t(4, dtype="int8", low=-3, high=3))  # fmt: skip
case("dequantize", lambda x, s, z: op.dequantize(x, s, z), t("n", 4, dtype="int8", low=-9, high=9),
     t(low=0.02, high=0.1), t(dtype="int8", low=0, high=3))  # fmt: skip
case("multinomial_from_uniform", op.multinomial_from_uniform, t(2, 5, low=0, high=0.4),
     t(4, 1, low=0, high=1), t(4, 1, dtype="int64", low=0, high=2))  # fmt: skip
case("grad.nll_loss_backward", op.grad.nll_loss_backward, t(), t(3, 4),
     t(3, dtype="int64", low=0, high=4), tolerance=1e-4)  # fmt: skip
case("grad.max_pool2d_backward", lambda g, x: op.grad.max_pool2d_backward(g, x, (2, 2), (2, 2)),
     t(1, 2, 3, 3), t(1, 2, 6, 6))  # fmt: skip
case("grad.avg_pool2d_backward", lambda g, x: op.grad.avg_pool2d_backward(g, x, (2, 2), (2, 2)),
     t(1, 2, 3, 3), t(1, 2, 6, 6))  # fmt: skip
case("grad.max_pool2d_backward",
     lambda g, x: op.grad.max_pool2d_backward(g, x, (3, 2), (2, 1), (1, 0), (1, 2)),
     t(1, 2, 3, 4), t(1, 2, 6, 6))  # fmt: skip
for _include in (True, False):
    case("grad.avg_pool2d_backward",
         lambda g, x, flag=_include: op.grad.avg_pool2d_backward(
             g, x, (3, 3), (2, 2), (1, 1), count_include_pad=flag),
         t(1, 2, 3, 3), t(1, 2, 6, 6))  # fmt: skip
for _kind in ("max", "avg"):
    case(f"grad.{_kind}_pool2d_backward",
         lambda g, x, kind=_kind: getattr(op.grad, f"{kind}_pool2d_backward")(
             g, x, (3, 2), (2, 1), (1, 0, 1, 1), ceil_mode=True, layout="NHWC"),
         t(1, 4, 6, 2), t(1, 6, 6, 2))  # fmt: skip
case("grad.take_backward", lambda g, x, i: op.grad.take_backward(g, x, i, axis=1), t(2, 3, 4),
     t(2, 5, 4), t(3, dtype="int64", low=0, high=5), tolerance=1e-4)  # fmt: skip


# --- tools for the families' own tests ---


def info(expr: Any) -> Any:
    """The inferred struct info of a call."""
    return relax.BlockBuilder().normalize(expr).struct_info


def var(*shape: Any, dtype: str = "float32", name: str = "x", ndim: int = -1) -> relax.Var:
    """A tensor variable; `ndim` for one whose extents are not known."""
    known = shape if ndim == -1 else None
    return relax.Var(name, relax.TensorStructInfo(known, dtype, ndim=ndim))


def shape_of(expr: Any) -> tuple[Any, ...]:
    """The inferred extents, literals as integers."""
    found = expr if isinstance(expr, relax.TensorStructInfo) else info(expr)
    return tuple(getattr(extent, "value", extent) for extent in found.values)
