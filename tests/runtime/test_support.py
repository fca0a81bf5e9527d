"""Classes derived from ours."""

from __future__ import annotations

import pytest

from tvm.runtime import derived_object

pytestmark = pytest.mark.pure


def test_a_derived_class_is_itself() -> None:
    @derived_object
    class Mine:
        """A user's class."""

    assert Mine().__doc__ == "A user's class."
