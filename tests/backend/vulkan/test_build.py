"""Modules for Vulkan hold WGSL, and are stored with the host's code."""

from __future__ import annotations

import pytest

from tests.backend.cuda.test_codegen import elementwise
from tests.backend.device.harness import built
from tvm.runtime.device_module import DeviceModule

pytestmark = pytest.mark.cpu


def test_a_module_of_wgsl() -> None:
    mod = elementwise("float32", "float32", 4, lambda x: x * 2.0)
    (device,) = built(mod, "vulkan").mod.imports
    assert device.kind == "vulkan"
    assert device.get_write_formats()[0] == "wgsl"
    again = DeviceModule.from_record(device.as_record())
    assert again.source == device.source
    assert again.kernels == device.kernels
