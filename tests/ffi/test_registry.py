"""Functions by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tvm.ffi import (
    get_global_func,
    list_global_func_names,
    register_global_func,
    registry,
    remove_global_func,
)

pytestmark = pytest.mark.pure


@pytest.fixture(autouse=True)
def clean():
    yield
    for name in list_global_func_names():
        if name.startswith("testing.registry"):
            remove_global_func(name)


def test_registered_functions_are_found() -> None:
    @register_global_func("testing.registry.add")
    def add(a: int, b: int) -> int:
        return a + b

    assert add(1, 2) == 3
    assert get_global_func("testing.registry.add")(2, 3) == 5
    assert "testing.registry.add" in list_global_func_names()


def test_the_name_may_be_that_of_the_function() -> None:
    def testing_registry_named() -> int:
        return 1

    register_global_func(testing_registry_named)
    assert get_global_func("testing_registry_named")() == 1
    remove_global_func("testing_registry_named")


def test_a_name_is_taken_once() -> None:
    register_global_func("testing.registry.one", lambda: 1)
    with pytest.raises(RuntimeError) as caught:
        register_global_func("testing.registry.one", lambda: 2)
    assert str(caught.value) == (
        "register global function 'testing.registry.one'\n  found: the name is taken\n"
        "  legal: another name, or override=True"
    )
    register_global_func("testing.registry.one", lambda: 2, override=True)
    assert get_global_func("testing.registry.one")() == 2


def test_missing_functions() -> None:
    register_global_func("testing.registry.present", lambda: 1)
    assert get_global_func("testing.registry.absent", allow_missing=True) is None
    with pytest.raises(ValueError, match=r"did you mean 'testing\.registry\.present'"):
        get_global_func("testing.registry.presnt")


def test_a_name_is_a_string() -> None:
    with pytest.raises(TypeError, match="register_global_func needs a name"):
        register_global_func(3)  # type: ignore[call-overload]


def test_homes_are_imported_at_the_first_look_up(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def fake_import(name: str) -> None:
        asked.append(name)
        register_global_func("testing.registry.home.f", lambda: 9)

    monkeypatch.setattr(registry.importlib, "import_module", fake_import)
    registry.add_home("testing.registry.home.", "somewhere")
    assert get_global_func("testing.registry.home.f")() == 9
    assert asked == ["somewhere"]


def test_what_is_imported_at_the_first_call_registers_each_of_its_names() -> None:
    script = """
import importlib
from tvm.ffi import registry
before = {n: registry.get_global_func(n) for ns in registry.AT_FIRST_CALL.values() for n in ns}
for module, names in registry.AT_FIRST_CALL.items():
    found = vars(importlib.import_module(module))
    for name in names:
        assert name.rpartition(".")[2] in found, name
        assert not registry.get_global_func(name).same_as(before[name]), name
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_functions_that_relax_programs_call_have_homes():
    code = (
        "import tvm\n"
        "for name in ('print', 'assert_op', 'shape_to_tensor', 'unique', 'nonzero'):\n"
        "    tvm.get_global_func('relax.run.' + name)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
