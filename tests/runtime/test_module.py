"""Modules: functions, imports, entry points, loading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tvm
from tvm.error import TVMError
from tvm.runtime import Module, enabled, load_module
from tvm.runtime.module import import_tree

pytestmark = pytest.mark.pure


class Table(Module):
    """Functions given as a dict."""

    kind = "table"

    def __init__(self, **functions: Any) -> None:
        super().__init__()
        self._table = functions

    def function_names(self) -> list[str]:
        return list(self._table)

    def _find(self, name: str) -> Any:
        return self._table.get(name)


def test_functions_are_found_by_index_and_attribute() -> None:
    module = Table(add=lambda a, b: a + b)
    assert module["add"](1, 2) == 3
    assert module.add(1, 2) == 3
    assert module.get_function("add") is module["add"]
    assert module.implements_function("add")
    assert not module.implements_function("sub")


def test_missing_functions_are_refused_with_near_names() -> None:
    with pytest.raises(AttributeError, match=r"^Module has no function 'ad'; did you mean 'add'"):
        Table(add=abs).get_function("ad")
    with pytest.raises(ValueError, match="Can only take string"):
        Table()[3]  # type: ignore[index]


def test_imports_are_searched_by_index_only() -> None:
    outer, inner = Table(), Table(f=abs)
    outer.import_module(inner)
    assert outer["f"] is abs
    assert outer.imports == [inner] == outer.imported_modules
    assert outer.implements_function("f", query_imports=True)
    with pytest.raises(AttributeError):
        Table().get_function("f")
    assert import_tree(outer) == [outer, inner]
    outer.clear_imports()
    assert outer.imports == []


def test_circles_of_imports_are_refused() -> None:
    a, b = Table(), Table()
    a.import_module(b)
    with pytest.raises(TVMError, match="in a circle"):
        b.import_module(a)


def test_the_entry_is_main_or_the_only_function() -> None:
    assert Table(main=lambda: 1, other=lambda: 2)() == 1
    assert Table(only=lambda: 3).entry_func() == 3
    assert Table(only=lambda: 3).main() == 3
    with pytest.raises(AttributeError, match="its functions: a, b"):
        _ = Table(a=abs, b=abs).entry_func


def test_what_a_module_is() -> None:
    module = Table(f=abs)
    assert module.type_key == module.kind == "table"
    assert module.is_runnable()
    assert not module.is_binary_serializable()
    assert not module.is_compilation_exportable()
    assert module.get_write_formats() == ()
    assert module.inspect_source() == module.get_source() == ""
    assert repr(module) == "Module(table, functions: f)"
    with pytest.raises(TVMError, match="cannot be written by itself"):
        module.save("x.o")
    with pytest.raises(TVMError, match="this kind of module cannot be exported"):
        module.export_library("x.so")


def test_measuring_a_function() -> None:
    calls = []
    measure = Table(f=calls.append).time_evaluator("f", tvm.cpu(), number=2, repeat=2)
    assert len(measure(1).results) == 2
    assert len(calls) == 5


def test_files_that_cannot_be_loaded_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="found: no such file"):
        load_module(tmp_path / "missing.so")
    with pytest.raises(ValueError, match="found: not a file"):
        load_module(tmp_path)
    other = tmp_path / "model.onnx"
    other.write_bytes(b"")
    with pytest.raises(ValueError, match=r"suffix '\.onnx'\n  legal: \.so, "):
        load_module(other)
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"not a library")
    with pytest.raises(TVMError, match="a shared library for this machine"):
        load_module(broken)


def test_what_can_run_here() -> None:
    assert enabled("llvm")
    assert enabled("cpu")
    assert not enabled("hexagon")
    assert not enabled("nonsense")


def test_functions_of_imports_are_found_when_asked_for() -> None:
    class Named(Module):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def function_names(self) -> list[str]:
            return [self.name]

        def _find(self, name: str) -> object:
            return (lambda: name) if name == self.name else None

    root, leaf = Named("f"), Named("g")
    root.import_module(leaf)
    assert root["g"]() == "g"
    assert root.get_function("g", query_imports=True)() == "g"
    with pytest.raises(AttributeError, match="no function 'g'"):
        root.get_function("g")
    root.clear_imports()
    with pytest.raises(AttributeError, match="no function 'g'"):
        root["g"]
    assert list(root["get_func_names"]()) == ["f"]
