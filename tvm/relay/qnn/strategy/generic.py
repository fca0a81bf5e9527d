"""Strategies of quantized operators, as `tvm.relay.op.strategy.generic` has those of others."""

from __future__ import annotations

from tvm.relay.op.strategy.generic import strategy_of
from tvm.relay.op.strategy.generic import wrap_topi_compute as wrap_topi_compute
from tvm.relay.op.strategy.generic import wrap_topi_schedule as wrap_topi_schedule

qnn_add_strategy = strategy_of("qnn_add_strategy", "qnn.add")
qnn_avg_pool2d_strategy = strategy_of("qnn_avg_pool2d_strategy", "qnn.avg_pool2d")
qnn_batch_matmul_strategy = strategy_of("qnn_batch_matmul_strategy", "qnn.batch_matmul")
qnn_concatenate_strategy = strategy_of("qnn_concatenate_strategy", "qnn.concatenate")
qnn_conv2d_strategy = strategy_of("qnn_conv2d_strategy", "qnn.conv2d")
qnn_dense_strategy = strategy_of("qnn_dense_strategy", "qnn.dense")
qnn_dense_pack_strategy = strategy_of("qnn_dense_pack_strategy", "qnn.contrib_dense_pack")
qnn_dequantize_strategy = strategy_of("qnn_dequantize_strategy", "qnn.dequantize")
qnn_mul_strategy = strategy_of("qnn_mul_strategy", "qnn.mul")
qnn_quantize_strategy = strategy_of("qnn_quantize_strategy", "qnn.quantize")
qnn_requantize_strategy = strategy_of("qnn_requantize_strategy", "qnn.requantize")
qnn_subtract_strategy = strategy_of("qnn_subtract_strategy", "qnn.subtract")
qnn_tanh_strategy = strategy_of("qnn_tanh_strategy", "qnn.tanh")
