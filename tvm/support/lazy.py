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
            try:
                return importlib.import_module(f"{package}.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"{package}.{name}":
                    raise
                raise AttributeError(f"module {package!r} has no attribute {name!r}") from None
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module_name, _, attribute = home.partition(":")
        value = importlib.import_module(module_name)
        if attribute:
            value = getattr(value, attribute)
        setattr(sys.modules[package], name, value)
        return value

    module = sys.modules.get(package)
    if module is not None and hasattr(module, "__path__"):
        module.__class__ = _LazyPackage
        vars(module)["_LAZY_VALUES"] = frozenset(n for n, home in homes.items() if ":" in home)
    return __getattr__


class _LazyPackage(ModuleType):
    """A package in which no module hides the value that has its name.

    When `tvm.tir.build` is imported, Python sets the attribute `build` of `tvm.tir` to the module;
    there it is to stay the function, whatever was imported before.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, ModuleType) and name in vars(self)["_LAZY_VALUES"]:
            return
        super().__setattr__(name, value)


def lazy_dir(package: str, *names: str) -> Callable[[], list[str]]:
    """A module `__dir__` that shows the lazy names beside the ones already there."""

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names})

    return __dir__
