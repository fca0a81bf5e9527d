"""Operators and schedule functions by the names that strategies for CUDA give them.

See `tvm.topi.x86`.
"""

from tvm.topi.schedules import COMMON, schedule_functions

__getattr__ = schedule_functions(
    __name__,
    (
        *COMMON, "schedule_batch_matmul_tensorcore", "schedule_conv2d_nchw_winograd",
        "schedule_conv2d_nhwc_tensorcore", "schedule_dense_large_batch",
        "schedule_dense_small_batch", "schedule_dense_tensorcore", "schedule_scan",
        "schedule_transpose",
    ),
    {
        name: f"tvm.topi.nn:{name}"
        for name in (
            "batch_matmul", "conv2d_nchw", "conv2d_nhwc", "conv3d_ncdhw", "conv3d_ndhwc", "dense",
            "group_conv2d_nchw",
        )
    }
    | {"dense_large_batch": "tvm.topi.nn:dense", "dense_small_batch": "tvm.topi.nn:dense"},
)  # fmt: skip
