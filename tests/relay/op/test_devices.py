"""Marks that say on which device a value is computed."""

from __future__ import annotations

from typing import Any

import pytest

import tvm
from tvm import relay
from tvm.target import VirtualDevice

pytestmark = pytest.mark.pure
X = relay.var("x", shape=(2,))


@pytest.mark.parametrize("device", [tvm.cuda(0), "cuda", VirtualDevice(tvm.cuda(0))], ids=str)
@pytest.mark.parametrize(("result", "body"), [(False, True), (True, False), (True, True)])
def test_a_mark_has_the_device(device: Any, result: bool, body: bool) -> None:
    attrs = relay.annotation.on_device(X, device, result, body).attrs
    assert (attrs.virtual_device.device_type_int, attrs.virtual_device.virtual_device_id) == (2, 0)
    assert (bool(attrs.constrain_result), bool(attrs.constrain_body)) == (result, body)


def test_a_mark_that_says_nothing_has_none() -> None:
    attrs = relay.annotation.on_device(X, tvm.cuda(0), False, False).attrs
    assert attrs.virtual_device == VirtualDevice()


@pytest.mark.parametrize("device", ["bogus", 3.5, [1]])
def test_what_is_no_device_is_refused(device: Any) -> None:
    with pytest.raises(ValueError, match=r"expecting a Device or device name\n  found: .*\n  le"):
        relay.annotation.on_device(X, device)
    with pytest.raises(ValueError, match="expecting a Device"):
        relay.device_copy(X, device, tvm.cpu())
