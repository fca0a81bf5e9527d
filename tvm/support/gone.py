"""Packages of earlier versions that are no more, under their names.

    from tvm import autotvm      # warns: use tvm.meta_schedule
    autotvm.task                 # AttributeError: tvm.autotvm is no more: ...

A program that names such a package among its imports runs as far as it does not need it.
"""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Final


class GoneModule(ModuleType):
    """A package without anything in it, which says what replaces it."""

    def __init__(self, name: str, instead: str) -> None:
        super().__init__(name, f"No more; {instead}.")
        self.__instead: Final = instead

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # what Python itself asks of modules
            raise AttributeError(name)
        raise AttributeError(f"{self.__name__} is no more: {self.__instead} (asked for {name!r})")


def gone(name: str, instead: str) -> GoneModule:
    """The package, with a warning to whoever imports it."""
    warnings.warn(f"{name} is no more: {instead}", DeprecationWarning, stacklevel=3)
    return GoneModule(name, instead)
