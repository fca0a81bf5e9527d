from __future__ import annotations

import pytest

from tvm import topi
from tvm.topi import transform

pytestmark = pytest.mark.pure


def test_names_stand_in_one_module() -> None:
    for name in transform.__all__:
        assert getattr(topi, name) is getattr(transform, name)
