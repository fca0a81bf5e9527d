"""Measured times."""

from __future__ import annotations

import pytest

from tvm.meta_schedule.seconds import Seconds, seconds
from tvm.tir import FloatImm, IntImm

pytestmark = pytest.mark.pure


def test_times_are_numbers_with_a_value() -> None:
    found = seconds([1.5, 2, FloatImm("float32", 0.25), IntImm("int32", 3), Seconds(4)])
    assert found == [1.5, 2.0, 0.25, 3.0, 4.0]
    assert [t.value for t in found] == [1.5, 2.0, 0.25, 3.0, 4.0]
    assert str(found[:2]) == "[1.5, 2.0]"
    assert seconds(None) is None
