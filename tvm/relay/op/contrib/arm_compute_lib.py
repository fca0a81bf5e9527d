"""What Arm's Compute Library takes: convolutions and products with what follows, pools, sums.

    mod = partition_for_arm_compute_lib(mod, params)

Pictures are NHWC, one at a time; numbers are float32, or of 8 bits where operators are quantized.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from tvm.ffi import get_global_func
from tvm.ir.module import IRModule
from tvm.ir.transform import Sequential
from tvm.relay.dataflow_pattern import DFPattern, is_constant, is_op, is_tuple, wildcard
from tvm.relay.expr import Constant

from .partition import bound, root_call
from .register import register_pattern_table
from .subgraphs import OpAttrContext as OpAttrContext
from .subgraphs import convolutions_in, is_depthwise, taken_by

_NAME: Final = "arm_compute_lib"
_EIGHT: Final = ("uint8", "int8")


def is_arm_compute_runtime_enabled() -> bool:
    """Whether what the compiler makes can run here."""
    asked = get_global_func("relay.op.is_arm_compute_runtime_enabled", allow_missing=True)
    return bool(asked()) if asked is not None else False


def partition_for_arm_compute_lib(
    mod: IRModule, params: Mapping[str, Any] | None = None,
    disabled_ops: Sequence[str] = ("concatenate",), **opts: Any,
) -> IRModule:  # fmt: skip
    """The module with functions for the library; `disabled_ops` stay outside."""
    from tvm.relay import transform as t

    return Sequential([
        t.InferType(),
        t.MergeComposite(arm_compute_lib_pattern_table(disabled_ops)),
        t.AnnotateTarget(_NAME, False),
        t.PartitionGraph(),
    ])(bound(mod, params))  # fmt: skip


def preprocess_module(mod: IRModule) -> IRModule:
    """The module with convolutions of NHWC and OHWI, as the library wants them."""
    from tvm import relay

    layouts = ("NHWC", "OHWI")
    names = {"nn.conv2d": layouts, "qnn.conv2d": layouts}
    make: dict[str, Any] = {"nn.conv2d": relay.nn.conv2d, "qnn.conv2d": relay.qnn.op.conv2d}
    made: IRModule = convolutions_in(names, make)(mod)
    return made


# --- patterns ---


def _optional(pattern: DFPattern, op: str, *more: DFPattern) -> DFPattern:
    return pattern.optional(lambda x: is_op(op)(x, *more))


def _conv() -> DFPattern:
    data = is_op("nn.pad")(wildcard(), wildcard()) | wildcard()
    biased = _optional(is_op("nn.conv2d")(data, is_constant()), "nn.bias_add", is_constant())
    return _optional(biased, "nn.relu")


def _qnn_conv() -> DFPattern:
    data = is_op("nn.pad")(wildcard(), wildcard()) | wildcard()
    product = is_op("qnn.conv2d")(data, *[is_constant() for _ in range(5)])
    return _requantized(_optional(product, "nn.bias_add", is_constant()), relu=True)


def _requantized(product: DFPattern, relu: bool = False) -> DFPattern:
    if relu:
        product = _optional(product, "nn.relu")
    return is_op("qnn.requantize")(
        product, wildcard(), wildcard(), is_constant(), is_constant()
    )


def _dense() -> DFPattern:
    product = is_op("nn.dense")(wildcard(), is_constant())
    return _optional(product, "nn.bias_add", is_constant())


def _qnn_dense() -> DFPattern:
    product = is_op("qnn.dense")(wildcard(), *[is_constant() for _ in range(5)])
    return _requantized(_optional(product, "nn.bias_add", is_constant()))


def _avg_pool() -> DFPattern:
    wide = is_op("cast")(wildcard())
    pooled = is_op("nn.avg_pool2d")(wide) | is_op("nn.global_avg_pool2d")(wide)
    return is_op("cast")(pooled)


def _l2_pool() -> DFPattern:
    squares = is_op("power")(wildcard(), is_constant())
    return is_op("sqrt")(is_op("nn.avg_pool2d")(squares))


@register_pattern_table("arm_compute_lib")
def arm_compute_lib_pattern_table(
    disabled_ops: Sequence[str] = ("concatenate",),
) -> list[tuple[Any, ...]]:
    """The patterns of more than one operator; `disabled_ops` may hold "concatenate".

    Its pattern is there all the same, and takes nothing then.
    """
    takes_joined = "concatenate" not in disabled_ops
    return [
        ("arm_compute_lib.conv2d", _conv(), lambda e: conv2d(root_call(e, "nn.conv2d"))),
        ("arm_compute_lib.qnn_conv2d", _qnn_conv(), _takes_qnn_conv),
        ("arm_compute_lib.dense", _dense(), lambda e: dense(root_call(e, "nn.dense"))),
        ("arm_compute_lib.qnn_dense", _qnn_dense(), _takes_qnn_dense),
        ("arm_compute_lib.avg_pool2d", _avg_pool(), _takes_avg_pool),
        ("arm_compute_lib.l2_pool2d", _l2_pool(), _takes_l2_pool),
        ("arm_compute_lib.concatenate", is_op("concatenate")(is_tuple(None)),
         lambda e: takes_joined and _takes_concatenate(e)),
    ]  # fmt: skip


def _takes_qnn_conv(expr: Any) -> bool:
    return _result(expr) in _EIGHT and qnn_conv2d(root_call(expr, "qnn.conv2d"))


def _takes_qnn_dense(expr: Any) -> bool:
    return _result(expr) in _EIGHT and qnn_dense(root_call(expr, "qnn.dense"))


def _takes_avg_pool(expr: Any) -> bool:
    if _result(expr) not in _EIGHT:
        return False
    pool = expr.args[0]
    if pool.op.name == "nn.global_avg_pool2d":
        return global_avg_pool2d(pool, True)
    return avg_pool2d(pool, True)


def _takes_l2_pool(expr: Any) -> bool:
    pool: Any = root_call(expr, "nn.avg_pool2d")
    power = float(pool.args[0].args[1].data.numpy().reshape(-1)[0])
    return power == 2.0 and avg_pool2d(pool)


def _takes_concatenate(expr: Any) -> bool:
    if int(expr.attrs.axis) not in (-4, -3, -2, -1, 0, 1, 2, 3):
        return False
    types = [field.checked_type for field in expr.args[0].fields]
    return all(len(t.shape) == 4 and str(t.dtype) in ("float32", *_EIGHT) for t in types)


# --- checks ---


def _result(expr: Any) -> str:
    return str(expr.checked_type.dtype)


def _is_one_picture(typ: Any, dtypes: Sequence[str]) -> bool:
    return len(typ.shape) == 4 and int(typ.shape[0]) == 1 and str(typ.dtype) in dtypes


def _takes_conv(expr: Any, dtypes: Sequence[str]) -> bool:
    attrs, args = expr.attrs, expr.args
    if attrs.data_layout != "NHWC":
        return False
    data, kernel = args[0].checked_type, args[1].checked_type
    if not _is_one_picture(data, dtypes):
        return False
    if len(kernel.shape) != 4 or str(kernel.dtype) not in dtypes:
        return False
    depthwise = is_depthwise(
        data.shape, str(attrs.data_layout), kernel.shape, str(attrs.kernel_layout),
        int(attrs.groups),
    )
    if depthwise:
        return depthwise_conv2d(attrs, args)
    return int(attrs.groups) == 1 and check_dilation(attrs)


@taken_by(_NAME, "nn.conv2d")
def conv2d(expr: Any) -> bool:
    """Whether a convolution of float32 is taken."""
    return expr.attrs.out_dtype in ("float32", "") and _takes_conv(expr, ("float32",))


def qnn_conv2d(expr: Any) -> bool:
    """Whether a convolution of 8 bits is taken: its kernel has one scale."""
    if expr.attrs.out_dtype not in ("int32", "") or not _takes_conv(expr, _EIGHT):
        return False
    return not is_per_channel_quantization(expr.args[3], expr.args[5])


def depthwise_conv2d(attrs: Any, args: Sequence[Any]) -> bool:
    """Whether a depthwise convolution is taken: kernels of 3 or 5, steps of 1 or 2."""
    kernel = args[1].checked_type
    high, wide = (int(kernel.shape[str(attrs.kernel_layout).index(axis)]) for axis in "HW")
    strides = [int(step) for step in attrs.strides]
    plain = high == wide in (3, 5) and strides[0] == strides[1] in (1, 2)
    return plain and all(int(rate) == 1 for rate in attrs.dilation)


def check_dilation(attrs: Any) -> bool:
    """Whether the steps within a kernel are taken: 1."""
    return all(int(rate) == 1 for rate in attrs.dilation)


@taken_by(_NAME, "nn.dense")
def dense(expr: Any) -> bool:
    """Whether a product of float32 is taken."""
    data, kernel = (arg.checked_type for arg in expr.args)
    plain = len(kernel.shape) == 2 and str(data.dtype) == str(kernel.dtype) == "float32"
    return plain and expr.attrs.out_dtype in ("float32", "")


def qnn_dense(expr: Any) -> bool:
    """Whether a product of 8 bits is taken: its weights have one scale."""
    data, kernel = expr.args[0].checked_type, expr.args[1].checked_type
    types = str(data.dtype) in _EIGHT and str(kernel.dtype) in _EIGHT and len(kernel.shape) == 2
    if not types or expr.attrs.out_dtype not in ("int32", ""):
        return False
    return not is_per_channel_quantization(expr.args[3], expr.args[5])


@taken_by(_NAME, "nn.max_pool2d")
def max_pool2d(expr: Any) -> bool:
    """Whether maxima of windows are taken."""
    attrs, dtype = expr.attrs, str(expr.args[0].checked_type.dtype)
    if attrs.layout != "NHWC" or dtype not in ("float32", *_EIGHT):
        return False
    return check_dilation(attrs)


@taken_by(_NAME, "nn.avg_pool2d")
def avg_pool2d(expr: Any, from_quantized_composite: bool = False) -> bool:
    """Whether means of windows are taken; of 8 bits they stand between two casts."""
    attrs, dtype = expr.attrs, str(expr.args[0].checked_type.dtype)
    if dtype != ("int32" if from_quantized_composite else "float32") or attrs.layout != "NHWC":
        return False
    return check_dilation(attrs)


@taken_by(_NAME, "nn.global_max_pool2d")
def global_max_pool2d(expr: Any) -> bool:
    """Whether maxima of pictures are taken."""
    dtype = str(expr.args[0].checked_type.dtype)
    return dtype in ("float32", *_EIGHT) and bool(expr.attrs.layout == "NHWC")


@taken_by(_NAME, "nn.global_avg_pool2d")
def global_avg_pool2d(expr: Any, from_quantized_composite: bool = False) -> bool:
    """Whether means of pictures are taken; of 8 bits they stand between two casts."""
    dtype = str(expr.args[0].checked_type.dtype)
    wanted = "int32" if from_quantized_composite else "float32"
    return dtype == wanted and bool(expr.attrs.layout == "NHWC")


@taken_by(_NAME, "reshape")
def _reshape(expr: Any) -> bool:
    return True


@taken_by(_NAME, "maximum")
def maximum(expr: Any) -> bool:
    """Whether the larger ones are taken: of float32."""
    return all(str(arg.checked_type.dtype) == "float32" for arg in expr.args)


@taken_by(_NAME, "add")
def add(expr: Any) -> bool:
    """Whether a sum is taken: of float32."""
    return all(str(arg.checked_type.dtype) == "float32" for arg in expr.args)


@taken_by(_NAME, "qnn.add")
def qnn_add(expr: Any) -> bool:
    """Whether a sum of quantized numbers is taken: of 8 bits, with one scale each."""
    if any(str(arg.checked_type.dtype) not in _EIGHT for arg in expr.args[:2]):
        return False
    scales, zeros = (2, 4, 6), (3, 5, 7)
    pairs = [(expr.args[z], expr.args[s]) for z, s in zip(zeros, scales)]
    return not any(is_per_channel_quantization(*pair) for pair in pairs)


def is_per_channel_quantization(zero_point: Any, scale: Any) -> bool:
    """Whether a tensor has a scale, or a zero point, for each channel."""
    for value in (zero_point, scale):
        assert isinstance(value, Constant), "the pattern asks for constants"
        if np.asarray(value.data.numpy()).size != 1:
            return True
    return False
