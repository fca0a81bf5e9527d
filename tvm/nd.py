"""Tensors by the names that they had before TVM v0.22, as scripts for Relay write them.

    x = tvm.nd.array(numpy_array, tvm.cpu())
"""

from __future__ import annotations

from tvm.runtime._device import (
    Device,
    cpu,
    cuda,
    device,
    ext_dev,
    hexagon,
    metal,
    opencl,
    rocm,
    vpi,
    vulkan,
    webgpu,
)
from tvm.runtime._tensor import Tensor, empty, from_dlpack, tensor

NDArray = Tensor
array = tensor

__all__ = [
    "Device", "NDArray", "array", "cpu", "cuda", "device", "empty", "ext_dev", "from_dlpack",
    "hexagon", "metal", "opencl", "rocm", "vpi", "vulkan", "webgpu",
]  # fmt: skip
