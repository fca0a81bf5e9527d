"""Packages whose behaviour loads at first touch, so that `import tvm` stays quick."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType


def lazy_packages(package: str, *children: str) -> Callable[[str], ModuleType]:
    """A module `__getattr__` that imports `package.child` when it is first asked for."""
    return lazy_names(package, {}, children)


def lazy_names(
    package: str, homes: Mapping[str, str], children: tuple[str, ...] = ()
) -> Callable[[str], ModuleType]:
    """A module `__getattr__` that finds `name` in `homes` ("module:attribute" or "module").

    A found value is stored in the package, so the second look-up is a plain attribute read.
    """

    def __getattr__(name: str) -> ModuleType:
        if name in children:
            return importlib.import_module(f"{package}.{name}")
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module_name, _, attribute = home.partition(":")
        value = importlib.import_module(module_name)
        if attribute:
            value = getattr(value, attribute)
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__


def lazy_dir(package: str, *names: str) -> Callable[[], list[str]]:
    """A module `__dir__` that shows the lazy names beside the ones already there."""

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names})

    return __dir__
