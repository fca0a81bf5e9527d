"""Operators of neural networks."""

from .batch_matmul import batch_matmul
from .batch_norm import batch_norm
from .conv2d import (
    conv,
    conv2d,
    conv2d_hwcn,
    conv2d_nchw,
    conv2d_nhwc,
    group_conv2d_nchw,
    group_conv2d_nhwc,
)
from .dense import dense, dense_pack, matmul
from .dilate import dilate
from .elemwise import leaky_relu, prelu, relu, softplus
from .flatten import flatten
from .group_norm import group_norm
from .instance_norm import instance_norm
from .layer_norm import layer_norm
from .pad import circular_pad, mirror_pad, pad, reflect_pad, replicate_pad
from .pooling import (
    adaptive_pool,
    adaptive_pool1d,
    adaptive_pool3d,
    global_pool,
    pool1d,
    pool2d,
    pool3d,
)
from .rms_norm import rms_norm
from .softmax import fast_softmax, log_softmax, softmax
