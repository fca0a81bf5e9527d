"""What CMSIS-NN of Arm's microcontrollers takes: quantized networks, NHWC, of 8 and 16 bits.

    mod = partition_for_cmsisnn(mod, params)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from tvm.ffi import get_global_func
from tvm.ir.module import IRModule
from tvm.ir.transform import Sequential
from tvm.relay.dataflow_pattern import DFPattern, is_constant, is_op, wildcard
from tvm.relay.expr import Constant

from .partition import bound, root_call
from .register import register_pattern_table

_NAME: Final = "cmsis-nn"
Entry = tuple[str, DFPattern, Callable[[Any], bool]]


def enabled() -> bool:
    """Whether somebody registered the compiler `relay.ext.cmsis-nn`."""
    return get_global_func("relay.ext.cmsis-nn", allow_missing=True) is not None


def partition_for_cmsisnn(
    mod: IRModule, params: Mapping[str, Any] | None = None, mod_name: str = "default", **opts: Any
) -> IRModule:
    """The module with functions for CMSIS-NN."""
    from tvm.relay import transform as t

    return Sequential([
        t.InferType(),
        t.MergeComposite(pattern_table()),
        t.AnnotateTarget(_NAME),
        t.PartitionGraph(mod_name=mod_name),
    ])(bound(mod, params))  # fmt: skip


def _constants(count: int) -> list[DFPattern]:
    return [is_constant() for _ in range(count)]


def _dtype(expr: Any) -> str:
    return str(expr.checked_type.dtype)


def _softmax() -> DFPattern:
    real = is_op("qnn.dequantize")(wildcard(), *_constants(2))
    return is_op("qnn.quantize")(is_op("nn.softmax")(real), *_constants(2))


def _takes_softmax(expr: Any) -> bool:
    before: Any = root_call(expr, "qnn.dequantize")
    scale, zero = (float(arg.data.numpy()) for arg in expr.args[1:])
    narrow = (abs(scale - 1 / 256) < 1e-9, zero == -128) == (True, True)
    wide = (abs(scale - 1 / 32768) < 1e-9, zero == 0) == (True, True)
    types = (_dtype(before.args[0]), _dtype(expr))
    return (types == ("int8", "int8") and narrow) or (types == ("int16", "int16") and wide)


def _product(op: str, padded: bool) -> DFPattern:
    data: DFPattern = wildcard()
    if padded:
        data = is_op("nn.pad")(wildcard(), is_constant())
    product = is_op(op)(data, *_constants(5))
    biased = product.optional(lambda x: is_op("nn.bias_add")(x, is_constant()))
    scaled = is_op("qnn.requantize")(biased, *_constants(4))
    return scaled.optional(lambda x: is_op("clip")(x))


def _takes_product(op: str) -> Callable[[Any], bool]:
    def check(expr: Any) -> bool:
        call: Any = root_call(expr, op)
        data, kernel = call.args[:2]
        biases = [arg for arg in _bias(expr)]
        dtype = _dtype(data)
        wide = "int64" if dtype == "int16" else "int32"
        types = dtype in ("int8", "int16") and _dtype(kernel) == "int8"
        if not types or _dtype(expr) != dtype or _dtype(call) != wide:
            return False
        if any(_dtype(bias) != wide for bias in biases):
            return False
        data_zeros, kernel_zeros = (np.asarray(call.args[at].data.numpy()) for at in (2, 3))
        if np.any(kernel_zeros != 0):
            return False
        if op != "qnn.conv2d":
            return True
        if dtype == "int16" and np.any(data_zeros != 0):
            return False
        return bool(biases) or not _is_depthwise(call)

    return check


def _bias(expr: Any) -> list[Any]:
    from tvm.relay.traverse import post_order

    return [e.args[1] for e in post_order(expr) if _name(e) == "nn.bias_add"]  # type: ignore[attr-defined]


def _name(expr: Any) -> str:
    return getattr(getattr(expr, "op", None), "name", "")


def _is_depthwise(call: Any) -> bool:
    """Whether each channel has a filter of its own; the library's kernel for it adds a bias."""
    attrs, (data, kernel) = call.attrs, call.args[:2]
    groups = int(attrs.groups)
    inputs = int(data.checked_type.shape[str(attrs.data_layout).index("C")])
    outputs = int(kernel.checked_type.shape[str(attrs.kernel_layout).index("O")])
    return inputs == groups == outputs > 1


def _pool(op: str) -> DFPattern:
    if op == "nn.max_pool2d":
        return is_op(op)(wildcard()).optional(lambda x: is_op("clip")(x))
    narrow = is_op("cast")(is_op(op)(is_op("cast")(wildcard())))
    return narrow.optional(lambda x: is_op("clip")(x))


def _takes_pool(op: str) -> Callable[[Any], bool]:
    def check(expr: Any) -> bool:
        pool: Any = root_call(expr, op)
        attrs, data = pool.attrs, pool.args[0]
        given = data.args[0] if op == "nn.avg_pool2d" else data
        types = _dtype(given) == _dtype(expr) and _dtype(given) in ("int8", "int16")
        inside = op == "nn.max_pool2d" or _dtype(data) == "int32"
        one = int(given.checked_type.shape[0]) == 1
        return types and inside and one and attrs.layout == "NHWC" and not attrs.ceil_mode

    return check


def _sum(op: str) -> DFPattern:
    found = is_op(op)(wildcard(), wildcard(), *_constants(6))
    return found.optional(lambda x: is_op("clip")(x))


def _takes_sum(op: str) -> Callable[[Any], bool]:
    def check(expr: Any) -> bool:
        call: Any = root_call(expr, op)
        left, right = call.args[:2]
        if isinstance(left, Constant) and isinstance(right, Constant):
            return False
        dtypes = {_dtype(left), _dtype(right), _dtype(expr)}
        zeros = [np.asarray(call.args[at].data.numpy()) for at in (3, 5, 7)]
        if dtypes == {"int16"}:
            return not any(zero.any() for zero in zeros)
        return dtypes == {"int8"}

    return check


@register_pattern_table("cmsis-nn")
def pattern_table() -> list[Entry]:
    """Softmax, convolutions and products with what follows, pools, and sums and products."""
    conv, dense = _takes_product("qnn.conv2d"), _takes_product("qnn.dense")
    pools = [
        (f"cmsis-nn.qnn_{name}", _pool(f"nn.{name}"), _takes_pool(f"nn.{name}"))
        for name in ("avg_pool2d", "max_pool2d")
    ]
    sums = [(f"cmsis-nn.{name}", _sum(f"qnn.{op}"), _takes_sum(f"qnn.{op}"))
            for name, op in (("qnn_mul", "mul"), ("qnn_add", "add"))]  # fmt: skip
    return [
        ("cmsis-nn.qnn_conv2d", _product("qnn.conv2d", padded=True), conv),
        ("cmsis-nn.qnn_conv2d", _product("qnn.conv2d", padded=False), conv),
        ("cmsis-nn.qnn_fully_connected", _product("qnn.dense", padded=False), dense),
        *pools, *sums,
        ("cmsis-nn.qnn_softmax", _softmax(), _takes_softmax),
    ]  # fmt: skip
