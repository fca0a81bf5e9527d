"""The passes under the longer module names."""

from __future__ import annotations

import pytest

from tvm.tir import transform
from tvm.tir.transform import transform as longer

pytestmark = pytest.mark.pure


def test_names_are_those_of_the_package() -> None:
    for name in ("BindTarget", "FlattenBuffer", "BF16ComputeLegalize", "prim_func_pass"):
        assert getattr(longer, name) is getattr(transform, name)
    assert "BindTarget" in dir(longer)
    with pytest.raises(AttributeError, match="NoPassOfThatName"):
        longer.NoPassOfThatName
