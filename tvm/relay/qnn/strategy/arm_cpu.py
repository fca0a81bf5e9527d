"""Strategies of quantized operators for Arm CPUs by the names that scripts know."""

from tvm.relay.op.strategy.generic import names_of_target

_NAMES = (
    "qnn_quantize_strategy", "qnn_dequantize_strategy", "qnn_dense_strategy",
    "qnn_conv2d_strategy",
)  # fmt: skip

__getattr__ = names_of_target(__name__, "arm_cpu", _NAMES, home="tvm.relay.qnn.strategy.generic")
