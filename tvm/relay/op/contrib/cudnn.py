"""What cuDNN computes: softmax, and convolutions with what follows them."""

from __future__ import annotations

from typing import Any

from tvm.ir.module import IRModule
from tvm.relay.dataflow_pattern import DFPattern, is_op, wildcard
from tvm.relay.expr import Call

from .partition import partitioned, root_call, tensor_types
from .register import register_pattern_table

_FLOATS = {"float16", "float32", "float64"}


def partition_for_cudnn(mod: IRModule) -> IRModule:
    """The module with functions for cuDNN."""
    return partitioned(mod, "cudnn", pattern_table())


@register_pattern_table("cudnn")
def pattern_table() -> list[tuple[str, DFPattern, Any]]:
    """The larger patterns first."""
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    biased = is_op("nn.bias_add")(conv, wildcard())
    return [
        ("cudnn.softmax", is_op("nn.softmax")(wildcard()), _check_softmax("nn.softmax")),
        ("cudnn.log_softmax", is_op("nn.log_softmax")(wildcard()),
         _check_softmax("nn.log_softmax")),
        ("cudnn.conv2d_bias_act", is_op("nn.relu")(biased), _check_conv2d),
        ("cudnn.conv2d_bias", biased, _check_conv2d),
        ("cudnn.conv2d", is_op("nn.conv2d")(wildcard(), wildcard()), _check_conv2d),
    ]  # fmt: skip


def _check_softmax(op: str) -> Any:
    def fits(matched: Call) -> bool:
        """Over the last axis, of floats."""
        call = root_call(matched, op)
        (data,) = tensor_types(call)
        axis: Any = call.attrs
        return int(axis.axis) in (-1, len(data.shape) - 1) and str(data.dtype) in _FLOATS

    return fits


def _check_conv2d(matched: Call) -> bool:
    """Plain layouts, borders alike on both sides, one data type."""
    call = root_call(matched, "nn.conv2d")
    o: Any = call.attrs
    plain = (o.data_layout, o.kernel_layout) in (("NCHW", "OIHW"), ("NHWC", "OHWI"))
    top, left, bottom, right = (int(p) for p in o.padding)
    kinds = {str(found.dtype) for found in tensor_types(call)}
    return plain and (top, left) == (bottom, right) and len(kinds) == 1 and kinds <= _FLOATS
