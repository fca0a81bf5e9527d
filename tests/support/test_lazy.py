"""Lazy packages import on first touch and name what is missing."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tvm.support.lazy import lazy_dir, lazy_names, show_submodules

pytestmark = pytest.mark.pure


def test_finds_names() -> None:
    get = lazy_names("tvm.support", {"Table": "tvm.support.naming:NameTable"})
    from tvm.support.naming import NameTable

    assert get("Table") is NameTable


def test_a_missing_name_is_an_attribute_error() -> None:
    get = lazy_names("tvm.support", {})
    with pytest.raises(AttributeError, match=r"module 'tvm\.support' has no attribute 'nothing'"):
        get("nothing")


MODULES_OF_PACKAGES = """
import tvm
assert tvm.script.parser.relax.entry.StructInfoProxy
assert tvm.script.parser.tir.entry.BufferProxy and tvm.script.parser.ir.parser
assert tvm.script.parser.core.doc.__name__ == "tvm.script.parser.core.doc"
assert tvm.tir.analysis._ffi_api and tvm.relax.transform.legalize_ops.qdq and tvm.contrib.cc
assert not hasattr(tvm.relax, "no_such_module")
try:
    tvm.script.parser.tir.no_such_word
except AttributeError as error:
    assert "no_such_word" in str(error)
else:
    raise AssertionError("a word that nobody knows")
"""


def test_modules_of_packages_load_when_they_are_asked_for() -> None:
    subprocess.run([sys.executable, "-c", MODULES_OF_PACKAGES], check=True)


def test_a_module_that_fails_to_load_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "lazy_broken"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "inner" / "__init__.py").write_text("")
    (package / "inner" / "broken.py").write_text("import lazy_no_such_package\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    broken = importlib.import_module("lazy_broken")
    show_submodules(broken)
    with pytest.raises(ModuleNotFoundError, match="lazy_no_such_package"):
        _ = broken.inner.broken


def test_dir_shows_lazy_names() -> None:
    assert "later" in lazy_dir("tvm.support", "later")()


def test_a_module_does_not_hide_the_function_it_is_named_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "lazy_example"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from tvm.support.lazy import lazy_names\n"
        "__getattr__ = lazy_names(__name__, {'build': 'lazy_example.build:build'})\n"
    )
    (package / "build.py").write_text("def build(): return 'built'\n")
    (package / "other.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    example = importlib.import_module("lazy_example")
    importlib.import_module("lazy_example.build")
    importlib.import_module("lazy_example.other")
    assert example.build() == "built"
    assert isinstance(example.other, ModuleType)
