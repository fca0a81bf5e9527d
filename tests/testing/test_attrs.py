from __future__ import annotations

import pytest

import tvm.testing.attrs
from tvm.ir import make_node

pytestmark = pytest.mark.pure


def test_made_by_its_name() -> None:
    made = make_node("attrs.TestAttrs", name="x", padding=(3, 4))
    assert isinstance(made, tvm.testing.attrs.TestAttrs)
