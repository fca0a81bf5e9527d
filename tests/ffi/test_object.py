"""The root class."""

from __future__ import annotations

import pytest

from tvm.ffi.object import Object

pytestmark = pytest.mark.pure


def test_objects_are_known_by_identity() -> None:
    a, b = Object(), Object()
    assert a.same_as(a)
    assert not a.same_as(b)
    assert a != b
