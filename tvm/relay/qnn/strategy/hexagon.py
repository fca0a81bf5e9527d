"""Strategies of quantized operators for Hexagon by the names that scripts know."""

from tvm.relay.op.strategy.generic import names_of_target

_NAMES = (
    "qnn_quantize_strategy", "qnn_dequantize_strategy", "qnn_requantize_strategy",
    "qnn_add_strategy", "qnn_subtract_strategy", "qnn_mul_strategy", "qnn_tanh_strategy",
    "qnn_concatenate_strategy", "qnn_conv2d_strategy", "qnn_dense_strategy",
    "qnn_dense_pack_strategy",
    "qnn_batch_matmul_strategy", "qnn_avg_pool2d_strategy",
)  # fmt: skip

__getattr__ = names_of_target(__name__, "hexagon", _NAMES, home="tvm.relay.qnn.strategy.generic")
