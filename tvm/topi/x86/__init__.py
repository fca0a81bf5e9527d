"""Operators and schedule functions by the names that strategies for x86 give them.

There is one definition of an operator for all targets (`tvm.topi.nn`), and rules schedule it
(`tvm.dlight.cpu`); what a target has of its own are layouts and legal forms of calls.
"""

from tvm.topi.schedules import COMMON, schedule_functions

__getattr__ = schedule_functions(
    __name__,
    (
        *COMMON, "schedule_concatenate", "schedule_conv2d_nhwc_pack", "schedule_dense_nopack",
        "schedule_dense_pack",
    ),
    {
        name: f"tvm.topi.nn:{name}"
        for name in (
            "batch_matmul", "conv2d_NCHWc", "conv2d_nchw", "conv2d_nhwc", "dense", "dense_pack",
            "depthwise_conv2d_NCHWc", "depthwise_conv2d_nchw", "group_conv2d_nchw",
        )
    }
    | {
        "concatenate": "tvm.topi:concatenate",
        "dense_nopack": "tvm.topi.nn:dense",
        "get_simd_32bit_lanes": "tvm.target.x86:get_simd_32bit_lanes",
    },
)  # fmt: skip
