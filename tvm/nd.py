"""Tensors by the names that they had before TVM v0.22, as scripts for Relay write them.

    x = tvm.nd.array(numpy_array, tvm.cpu())
"""

from tvm.runtime.ndarray import (
    Device,
    NDArray,
    array,
    cpu,
    cuda,
    device,
    empty,
    ext_dev,
    from_dlpack,
    gpu,
    hexagon,
    metal,
    opencl,
    rocm,
    vpi,
    vulkan,
    webgpu,
)

__all__ = [
    "Device", "NDArray", "array", "cpu", "cuda", "device", "empty", "ext_dev", "from_dlpack",
    "gpu", "hexagon", "metal", "opencl", "rocm", "vpi", "vulkan", "webgpu",
]  # fmt: skip
