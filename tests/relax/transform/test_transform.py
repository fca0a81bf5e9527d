"""The passes under the longer module name."""

from __future__ import annotations

import pytest

from tvm.relax import transform
from tvm.relax.transform import transform as longer

pytestmark = pytest.mark.pure


def test_names_are_those_of_the_package() -> None:
    for name in ("LegalizeOps", "FuseOpsByPattern", "DataflowUseInplaceCalls", "function_pass"):
        assert getattr(longer, name) is getattr(transform, name)
