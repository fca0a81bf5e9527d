"""Schedule functions for any target, by name; see `tvm.topi.schedules`."""

from tvm.topi.schedules import COMMON, schedule_functions

__getattr__ = schedule_functions(
    __name__,
    (
        *COMMON, "default_schedule", "schedule_conv2d_gemm_weight_transform",
        "schedule_conv2d_winograd_nnpack_weight_transform",
        "schedule_conv2d_winograd_weight_transform",
        "schedule_conv2d_winograd_without_weight_transform",
        "schedule_conv3d_winograd_weight_transform",
    ),
)  # fmt: skip
