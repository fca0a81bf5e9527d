"""Operators of neural networks."""

from .activation import (
    cross_entropy_with_logits,
    dropout,
    gelu,
    gelu_tanh,
    leakyrelu,
    log_softmax,
    prelu,
    relu,
    relu6,
    selu,
    silu,
    softmax,
    softplus,
)
from .attention import attention, attention_bias, attention_var_len
from .conv import conv1d, conv1d_transpose, conv2d, conv2d_transpose, conv3d
from .loss import nll_loss
from .norm import batch_norm, group_norm, instance_norm, layer_norm, rms_norm
from .pad import pad, pixel_shuffle
from .pool import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "attention",
    "attention_bias", "attention_var_len", "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm",
    "conv1d", "conv1d_transpose", "conv2d", "conv2d_transpose", "conv3d",
    "cross_entropy_with_logits", "dropout", "gelu", "gelu_tanh", "group_norm", "instance_norm",
    "layer_norm", "leakyrelu", "log_softmax", "max_pool1d", "max_pool2d", "max_pool3d", "nll_loss",
    "pad", "pixel_shuffle", "prelu", "relu", "relu6", "rms_norm", "selu", "silu", "softmax",
    "softplus",
]  # fmt: skip
