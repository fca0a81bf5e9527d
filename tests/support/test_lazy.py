"""Lazy packages import on first touch and name what is missing."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

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
    with pytest.raises(AttributeError, match=r"module 'tvm\.support' has no attribute 'absent'"):
        lazy_packages("tvm.support", "absent")("absent")


def test_dir_shows_lazy_names() -> None:
    assert "later" in lazy_dir("tvm.support", "later")()


def test_a_module_does_not_hide_the_function_it_is_named_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "lazy_example"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from tvm.support.lazy import lazy_names\n"
        "__getattr__ = lazy_names(__name__, {'build': 'lazy_example.build:build'}, ('other',))\n"
    )
    (package / "build.py").write_text("def build(): return 'built'\n")
    (package / "other.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    example = importlib.import_module("lazy_example")
    importlib.import_module("lazy_example.build")
    importlib.import_module("lazy_example.other")
    assert example.build() == "built"
    assert isinstance(example.other, ModuleType)
