"""Registries refuse duplicates, suggest near names, and load their homes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tvm.support.registry import Registry

pytestmark = pytest.mark.pure


def test_register_and_get() -> None:
    registry: Registry[int] = Registry("number")
    assert registry.register("one", 1) == 1
    assert registry.get("one") == 1
    assert "one" in registry
    assert registry.find("two") is None
    assert list(registry) == ["one"]
    registry.remove("one")
    assert "one" not in registry


def test_refuses_a_duplicate_with_both_places() -> None:
    registry: Registry[int] = Registry("number")
    registry.register("one", 1)
    with pytest.raises(KeyError, match=r"number 'one' is registered twice: at .*test_registry"):
        registry.register("one", 2)
    assert registry.register("one", 3, override=True) == 3


def test_suggests_near_names() -> None:
    registry: Registry[int] = Registry("backend")
    registry.register("llvm", 1)
    with pytest.raises(KeyError, match="no backend 'lvm'; did you mean 'llvm'"):
        registry.get("lvm")


def test_loads_its_home_at_the_first_miss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry: Registry[int] = Registry("thing", "registry_home_for_test")
    sys.modules.pop("registry_home_for_test", None)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "registry_home_for_test.py").write_text("LOADED = True\n")
    assert registry.find("nothing") is None
    assert "registry_home_for_test" in sys.modules


def test_homes_are_loaded_until_one_has_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes = [f"registry_home_{n}_for_test" for n in range(3)]
    registry: Registry[int] = Registry("thing", *homes)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("builtins.things_for_test", registry, raising=False)
    for n, home in enumerate(homes):
        sys.modules.pop(home, None)
        text = f"import builtins\nbuiltins.things_for_test.register('thing {n}', {n})\n"
        (tmp_path / f"{home}.py").write_text(text)
    assert registry.get("thing 1") == 1
    assert [home in sys.modules for home in homes] == [True, True, False]
    assert registry.names() == ["thing 0", "thing 1", "thing 2"]
