"""What the host says of itself."""

from __future__ import annotations

import pytest

from tvm.runtime.attributes import HOST_ATTRIBUTES, DeviceAttr, host_cores

pytestmark = pytest.mark.pure


def test_every_answer_can_be_given() -> None:
    for attr, answer in HOST_ATTRIBUTES.items():
        value = answer()
        assert value is None or isinstance(value, (bool, int, str, list)), attr


def test_numbers_are_those_that_device_interfaces_know() -> None:
    assert [DeviceAttr.EXIST, DeviceAttr.WARP_SIZE, DeviceAttr.L2_CACHE_SIZE_BYTES] == [0, 2, 13]


def test_cores() -> None:
    assert host_cores() >= 1
