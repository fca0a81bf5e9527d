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


def test_a_target_of_another_kind_than_the_device() -> None:
    with pytest.raises(tvm.error.InternalError, match=r"device type 1 .* device type 2"):
        VirtualDevice(tvm.cuda(0), "llvm")


def test_devices_that_say_the_same_are_equal() -> None:
    one, two = (VirtualDevice(tvm.cpu(3), "llvm", "local") for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert tvm.ir.structural_equal(one, two)
    assert one != VirtualDevice(tvm.cpu(4), "llvm", "local")


@pytest.mark.parametrize(
    "device",
    [VirtualDevice(), VirtualDevice(tvm.cpu(3), "llvm", "local"), VirtualDevice(None, "c")],
)
def test_devices_are_saved_and_printed(device: VirtualDevice) -> None:
    assert tvm.ir.load_json(tvm.ir.save_json(device)) == device
    assert str(device).startswith("VirtualDevice(")


def test_the_printed_form() -> None:
    assert str(VirtualDevice(tvm.cpu(3), None, "local")) == (
        "VirtualDevice(device_type=1, virtual_device_id=3, memory_scope='local')"
    )
    assert str(VirtualDevice()) == "VirtualDevice(?)"
