"""Operators of neural networks.

The names in `..._legalize` and `..._alter_layout` are functions over calls of Relay, of which each
target may have its own: doors to `tvm.relay.op.by_target`.
"""

from tvm.support.lazy import lazy_names

from .batch_matmul import batch_matmul
from .batch_norm import batch_norm
from .batch_norm import batch_norm_as_legalized as batch_norm_as_legalized
from .batch_to_space_nd import batch_to_space_nd
from .bitserial_conv2d import bitserial_conv2d_nchw, bitserial_conv2d_nhwc
from .bitserial_dense import bitserial_dense
from .bitserial_util import binary_op_multiplier, bitpack
from .bnn import binarize_pack, binary_dense
from .conv1d import conv1d, conv1d_ncw, conv1d_nwc, group_conv1d_ncw, group_conv1d_nwc
from .conv1d_transpose import conv1d_transpose_ncw, group_conv1d_transpose_ncw
from .conv2d import (
    conv,
    conv2d,
    conv2d_hwcn,
    conv2d_nchw,
    conv2d_nhwc,
    group_conv2d_nchw,
    group_conv2d_nhwc,
)
from .conv2d_blocked import conv2d_NCHWc, conv2d_NCHWc_int8, unpack_NCHWc_to_nchw
from .conv2d_transpose import (
    conv2d_transpose_nchw,
    conv2d_transpose_nchw_preprocess,
    declaration_conv2d_transpose_impl,
    group_conv2d_transpose_nchw,
)
from .conv2d_winograd import (
    conv2d_winograd_nchw,
    conv2d_winograd_nchw_without_weight_transform,
    conv2d_winograd_nhwc,
    conv2d_winograd_nhwc_without_weight_transform,
    conv2d_winograd_weight_transform,
)
from .conv3d import conv3d_ncdhw, conv3d_ndhwc, conv3d_winograd_weight_transform
from .conv3d_transpose import (
    conv3d_transpose_ncdhw,
    conv3d_transpose_ncdhw_preprocess,
    declaration_conv3d_transpose_impl,
    group_conv3d_transpose_ncdhw,
)
from .correlation import correlation_nchw
from .deformable_conv2d import deformable_conv2d_nchw, deformable_conv2d_nhwc
from .dense import dense, dense_pack, matmul
from .depth_to_space import depth_to_space
from .depthwise_conv2d import (
    depthwise_conv2d_backward_input_nhwc,
    depthwise_conv2d_backward_weight_nhwc,
    depthwise_conv2d_nchw,
    depthwise_conv2d_NCHWc,
    depthwise_conv2d_nhwc,
)
from .dilate import dilate
from .elemwise import leaky_relu, prelu, relu, softplus
from .fifo_buffer import fifo_buffer
from .flatten import flatten
from .group_norm import group_norm
from .instance_norm import instance_norm
from .layer_norm import layer_norm
from .local_response_norm import lrn
from .loss import nll_loss
from .lstm import lstm
from .mapping import scale_shift_nchw, scale_shift_nchwc, scale_shift_nhwc
from .pad import (
    circular_pad,
    get_padded_shape,
    mirror_pad,
    pad,
    reflect_pad,
    replicate_pad,
)
from .pixel_shuffle import pixel_shuffle
from .pooling import (
    adaptive_pool,
    adaptive_pool1d,
    adaptive_pool3d,
    global_pool,
    pool1d,
    pool2d,
    pool3d,
    pool_grad,
)
from .qnn import (
    SQNN_CODE_TO_DTYPE,
    SQNN_DISABLE,
    SQNN_DTYPE_TO_CODE,
    SQNN_INT8,
    SQNN_INT32,
    SQNN_UINT8,
    simulated_dequantize,
    simulated_quantize,
)
from .rms_norm import rms_norm
from .softmax import fast_softmax, log_softmax, softmax, softmax_common
from .space_to_batch_nd import space_to_batch_nd
from .space_to_depth import space_to_depth
from .upsampling import upsampling, upsampling3d
from .utils import (
    get_pad_tuple,
    get_pad_tuple1d,
    get_pad_tuple3d,
    get_pad_tuple_generic,
    infer_pad,
    infer_stride,
)
from .winograd_util import winograd_transform_matrices

__getattr__ = lazy_names(
    __name__,
    {
        name: f"tvm.relay.op.by_target.generic:{name}"
        for name in (
            "batch_matmul_legalize", "bitserial_conv2d_legalize", "conv2d_alter_layout",
            "conv2d_legalize", "conv2d_transpose_legalize", "conv3d_alter_layout",
            "conv3d_transpose_legalize", "deformable_conv2d_legalize", "dense_alter_layout",
            "dense_legalize", "matmul_legalize", "sparse_dense_alter_layout",
        )
    },
)  # fmt: skip
