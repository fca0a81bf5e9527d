"""All operators of neural networks are found under both module names."""

from __future__ import annotations

import pytest

from tvm.relax.op import nn
from tvm.relax.op.nn import nn as door

pytestmark = pytest.mark.pure


def test_names_are_the_same() -> None:
    assert all(getattr(door, name) is getattr(nn, name) for name in nn.__all__)
