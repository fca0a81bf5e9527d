"""Tensors by the module in which TVM before v0.22 had them; `tvm.nd` shows it."""

from ._device import (
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
from ._tensor import Tensor, empty, from_dlpack, tensor

NDArray = Tensor
array = tensor
gpu = cuda

__all__ = [
    "Device", "NDArray", "array", "cpu", "cuda", "device", "empty", "ext_dev", "from_dlpack",
    "gpu", "hexagon", "metal", "opencl", "rocm", "vpi", "vulkan", "webgpu",
]  # fmt: skip
