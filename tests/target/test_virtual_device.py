"""Devices in the abstract."""

from __future__ import annotations

import pytest

import tvm
from tvm.target import VirtualDevice

pytestmark = pytest.mark.pure


def test_parts_may_stay_open() -> None:
    assert VirtualDevice().dlpack_device_type() == -1
    assert VirtualDevice().virtual_device_id == -1
    assert VirtualDevice(target="cuda", memory_scope="shared").dlpack_device_type() == 2
    device = VirtualDevice(tvm.cpu(0))
    assert (device.dlpack_device_type(), device.virtual_device_id) == (1, 0)
