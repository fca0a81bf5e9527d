"""Packages whose behaviour loads at first touch, so that `import tvm` stays quick."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], ModuleType]:
    """A module `__getattr__` that finds `name` in `homes` ("module:attribute" or "module").

    A found value is stored in the package, so the second look-up is a plain attribute read.
    """

    def __getattr__(name: str) -> ModuleType:
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
        show_submodules(module)
        vars(module)["_LAZY_VALUES"] = frozenset(n for n, home in homes.items() if ":" in home)
    return __getattr__


def show_submodules(package: ModuleType) -> None:
    """Let modules of a package, and of the packages in it, load when they are first asked for."""
    if isinstance(package, _LazyPackage):
        return
    package.__class__ = _LazyPackage
    for name, value in list(vars(package).items()):
        if isinstance(value, ModuleType) and value.__name__ == f"{package.__name__}.{name}":
            setattr(package, name, value)


class _LazyPackage(ModuleType):
    """A package whose modules are its attributes, and hide no value that has their name.

    When `tvm.tir.build` is imported, Python sets the attribute `build` of `tvm.tir` to the module;
    there it is to stay the function, whatever was imported before.
    """

    _LAZY_VALUES: frozenset[str] = frozenset()

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, ModuleType):
            if name in self._LAZY_VALUES:
                return
            if hasattr(value, "__path__"):
                show_submodules(value)
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> object:
        """The module `name` of this package; asked after the package's own `__getattr__`."""
        full = f"{self.__name__}.{name}"
        if not name.startswith("__"):
            try:
                return importlib.import_module(full)
            except ModuleNotFoundError as error:
                if error.name != full:
                    raise
        own = vars(self).get("__getattr__")
        if own is not None:
            return own(name)  # it knows best what it lacks
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


def lazy_dir(package: str, *names: str) -> Callable[[], list[str]]:
    """A module `__dir__` that shows the lazy names beside the ones already there."""

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names})

    return __dir__
