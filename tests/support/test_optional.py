"""Packages are found without being loaded."""

from __future__ import annotations

import pytest

from tvm.support.optional import is_installed

pytestmark = pytest.mark.pure


def test_present_and_absent() -> None:
    assert is_installed("numpy")
    assert not is_installed("no_such_package_anywhere")
    assert not is_installed("no_such_package_anywhere.inner")
