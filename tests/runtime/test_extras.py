"""Packages that are missing are named, with what brings them."""

from __future__ import annotations

import json

import pytest

from tvm.error import TVMError
from tvm.runtime.extras import extra_package

pytestmark = pytest.mark.pure


def test_a_package_is_imported() -> None:
    assert extra_package("json", "llm", "a test") is json


def test_a_missing_one_is_named() -> None:
    with pytest.raises(TVMError, match=r'a test needs the package nowhere\n.*\n.*tvm-py\[llm\]'):
        extra_package("nowhere.at_all", "llm", "a test")
