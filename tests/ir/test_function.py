"""What functions of all dialects share is tested on PrimFunc; here the calling conventions."""

from __future__ import annotations

import pytest

from tvm.ir import CallingConv, DictAttrs
from tvm.ir.function import as_attrs

pytestmark = pytest.mark.pure


def test_numbers_of_the_conventions() -> None:
    assert [int(c) for c in CallingConv] == [0, 1, 2]


def test_attributes_as_a_node() -> None:
    attrs = DictAttrs({"a": 1})
    assert as_attrs(attrs) is attrs
    assert as_attrs({"a": 1})["a"] == 1
    assert len(as_attrs(None)) == 0
