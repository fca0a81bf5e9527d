"""The operators of neural networks, under the module name that scripts know."""

from .conv import contrib_conv2d_nchwc as contrib_conv2d_nchwc
from .conv import contrib_depthwise_conv2d_nchwc as contrib_depthwise_conv2d_nchwc
from .conv import conv1d as conv1d
from .conv import conv1d_transpose as conv1d_transpose
from .conv import conv2d as conv2d
from .conv import conv2d_transpose as conv2d_transpose
from .conv import conv3d as conv3d
from .conv import conv3d_transpose as conv3d_transpose
from .conv_grad import conv2d_backward_weight as conv2d_backward_weight
from .dense import batch_flatten as batch_flatten
from .dense import batch_matmul as batch_matmul
from .dense import bias_add as bias_add
from .dense import contrib_dense_pack as contrib_dense_pack
from .dense import dense as dense
from .dense import matmul as matmul
from .gemm import contrib_conv2d_gemm_weight_transform as contrib_conv2d_gemm_weight_transform
from .gemm import (
    contrib_conv2d_gemm_without_weight_transform as contrib_conv2d_gemm_without_weight_transform,
)
from .norm import batch_norm as batch_norm
from .norm import cross_entropy as cross_entropy
from .norm import cross_entropy_with_logits as cross_entropy_with_logits
from .norm import dropout as dropout
from .norm import dropout_raw as dropout_raw
from .norm import fast_softmax as fast_softmax
from .norm import group_norm as group_norm
from .norm import instance_norm as instance_norm
from .norm import l2_normalize as l2_normalize
from .norm import layer_norm as layer_norm
from .norm import leaky_relu as leaky_relu
from .norm import log_softmax as log_softmax
from .norm import lrn as lrn
from .norm import nll_loss as nll_loss
from .norm import prelu as prelu
from .norm import relu as relu
from .norm import softmax as softmax
from .pool import adaptive_avg_pool1d as adaptive_avg_pool1d
from .pool import adaptive_avg_pool2d as adaptive_avg_pool2d
from .pool import adaptive_avg_pool3d as adaptive_avg_pool3d
from .pool import adaptive_max_pool1d as adaptive_max_pool1d
from .pool import adaptive_max_pool2d as adaptive_max_pool2d
from .pool import adaptive_max_pool3d as adaptive_max_pool3d
from .pool import avg_pool1d as avg_pool1d
from .pool import avg_pool2d as avg_pool2d
from .pool import avg_pool2d_grad as avg_pool2d_grad
from .pool import avg_pool3d as avg_pool3d
from .pool import global_avg_pool1d as global_avg_pool1d
from .pool import global_avg_pool2d as global_avg_pool2d
from .pool import global_avg_pool3d as global_avg_pool3d
from .pool import global_max_pool1d as global_max_pool1d
from .pool import global_max_pool2d as global_max_pool2d
from .pool import global_max_pool3d as global_max_pool3d
from .pool import max_pool1d as max_pool1d
from .pool import max_pool2d as max_pool2d
from .pool import max_pool2d_grad as max_pool2d_grad
from .pool import max_pool3d as max_pool3d
from .pool import upsampling as upsampling
from .pool import upsampling3d as upsampling3d
from .sparse import bitserial_conv2d as bitserial_conv2d
from .sparse import bitserial_dense as bitserial_dense
from .sparse import sparse_add as sparse_add
from .sparse import sparse_dense as sparse_dense
from .sparse import sparse_transpose as sparse_transpose
from .spatial import batch_to_space_nd as batch_to_space_nd
from .spatial import bitpack as bitpack
from .spatial import correlation as correlation
from .spatial import deformable_conv2d as deformable_conv2d
from .spatial import depth_to_space as depth_to_space
from .spatial import dilate as dilate
from .spatial import fifo_buffer as fifo_buffer
from .spatial import mirror_pad as mirror_pad
from .spatial import pad as pad
from .spatial import space_to_batch_nd as space_to_batch_nd
from .spatial import space_to_depth as space_to_depth
from .winograd import (
    contrib_conv2d_winograd_weight_transform as contrib_conv2d_winograd_weight_transform,
)
from .winograd import (
    contrib_conv2d_winograd_without_weight_transform as contrib_conv2d_winograd_without_weight_transform,  # noqa: E501
)
from .winograd import (
    contrib_conv3d_winograd_weight_transform as contrib_conv3d_winograd_weight_transform,
)
from .winograd import (
    contrib_conv3d_winograd_without_weight_transform as contrib_conv3d_winograd_without_weight_transform,  # noqa: E501
)
