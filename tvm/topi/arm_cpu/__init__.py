"""Operators and schedule functions by the names that strategies for Arm give them.

See `tvm.topi.x86`.
"""

from tvm.topi.schedules import COMMON, schedule_functions

__getattr__ = schedule_functions(
    __name__,
    (
        *COMMON, "schedule_concatenate", "schedule_conv2d_NHWC_dsp",
        "schedule_conv2d_nchw_spatial_pack", "schedule_conv2d_nchw_winograd",
        "schedule_conv2d_nhwc_spatial_pack",
    ),
    {
        name: f"tvm.topi.nn:{name}"
        for name in (
            "batch_matmul", "conv1d_nwc", "conv2d_NCHWc", "conv2d_nchw", "conv2d_nhwc", "dense",
            "depthwise_conv2d_NCHWc", "depthwise_conv2d_nchw", "depthwise_conv2d_nhwc",
            "group_conv2d_nchw", "group_conv2d_nhwc",
        )
    }
    | {
        "bitserial_conv2d_nhwc": "tvm.topi.nn:bitserial_conv2d_nhwc",
        "bitserial_dense": "tvm.topi.nn:bitserial_dense",
        "conv2d_nchw_spatial_pack": "tvm.topi.nn:conv2d_nchw",
        "conv2d_nhwc_spatial_pack": "tvm.topi.nn:conv2d_nhwc",
    },
)  # fmt: skip
