"""The old module name of the static types."""

from __future__ import annotations

import pytest

from tvm import relax
from tvm.relax import ty

pytestmark = pytest.mark.pure


def test_names_are_the_same_classes() -> None:
    assert ty.TensorType is relax.TensorType
    assert {name for name in ty.__all__ if getattr(ty, name) is not getattr(relax, name)} == set()
