"""Addresses lead back to buffers, from any byte of them, until they are taken back."""

from __future__ import annotations

import pytest

from tvm.error import TVMError
from tvm.runtime.device_api.addresses import MAX_BYTES, AddressSpace

pytestmark = pytest.mark.pure


def test_an_address_leads_to_its_buffer_and_the_offset() -> None:
    space = AddressSpace()
    first, second = object(), object()
    at, beside = space.assign(first), space.assign(second)
    assert space.find(at) == (first, 0)
    assert space.find(at + 12345) == (first, 12345)
    assert space.find(at + MAX_BYTES - 1) == (first, MAX_BYTES - 1)
    assert space.find(beside + 1) == (second, 1)


def test_no_process_has_memory_there() -> None:
    # x86-64 and AArch64 want bits 48 to 63 alike, or hand them to tags in the uppermost byte
    at = AddressSpace().assign(object())
    assert at >> 48 not in (0, 0xFFFF)
    assert at < 1 << 63


def test_places_are_used_again() -> None:
    space = AddressSpace()
    at = space.assign("a")
    assert space.forget(at) == "a"
    with pytest.raises(TVMError, match="no buffer there: it was given back"):
        space.find(at)
    assert space.assign("b") == at


def test_addresses_of_the_host_are_refused() -> None:
    with pytest.raises(TVMError, match="or is one of the host"):
        AddressSpace().find(0x7F0000001000)
