"""Lazy packages import on first touch and name what is missing."""

from __future__ import annotations

import pytest

from tvm.support.lazy import lazy_dir, lazy_names, lazy_packages

pytestmark = pytest.mark.pure


def test_finds_names_and_children() -> None:
    get = lazy_names("tvm.support", {"Table": "tvm.support.naming:NameTable"}, ("frozen",))
    from tvm.support.naming import NameTable

    assert get("Table") is NameTable
    assert get("frozen").__name__ == "tvm.support.frozen"


def test_a_missing_name_is_an_attribute_error() -> None:
    get = lazy_packages("tvm.support", "frozen")
    with pytest.raises(AttributeError, match=r"module 'tvm\.support' has no attribute 'nothing'"):
        get("nothing")


def test_dir_shows_lazy_names() -> None:
    assert "later" in lazy_dir("tvm.support", "later")()
