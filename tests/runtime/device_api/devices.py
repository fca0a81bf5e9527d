"""The devices that tests can use here."""

from __future__ import annotations

import pytest

import tvm

BRINGS = {
    "opencl": "pocl-binary-distribution of PyPI, or Debian's pocl-opencl-icd",
    "vulkan": "Debian's mesa-vulkan-drivers",
    "webgpu": "Debian's mesa-vulkan-drivers",
}


def needs(kind: str) -> pytest.MarkDecorator:
    """For tests that run on a device of a kind."""
    return pytest.mark.skipif(
        not tvm.device(kind, 0).exist,
        reason=f"no {kind} device; {BRINGS[kind]} has a driver for CPUs",
    )
