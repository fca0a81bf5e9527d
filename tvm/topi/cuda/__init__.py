"""Operators by the names that strategies for CUDA give them; see `tvm.topi.x86`."""

from tvm.support.lazy import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        **{
            name: f"tvm.topi.nn:{name}"
            for name in (
    "batch_matmul", "conv2d_nchw", "conv2d_nhwc", "conv3d_ncdhw", "conv3d_ndhwc", "dense",
                "group_conv2d_nchw",
            )
        },
    },
)  # fmt: skip
