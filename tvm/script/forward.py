"""Modules that only show the names of others, which load when a name is first asked for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any


def forward_names(module: str, *homes: str) -> Callable[[str], Any]:
    """A module `__getattr__` that finds any public name in the first home that has it."""

    def __getattr__(name: str) -> Any:
        if not name.startswith("_"):
            for home in homes:
                try:
                    value = getattr(importlib.import_module(home), name)
                except AttributeError:
                    if len(homes) == 1:  # it knows best what it lacks
                        raise
                    continue
                setattr(sys.modules[module], name, value)
                return value
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return __getattr__


def forward_dir(*homes: str) -> Callable[[], list[str]]:
    """A module `__dir__` that lists the public names of the homes."""

    def __dir__() -> list[str]:
        names = [name for home in homes for name in dir(importlib.import_module(home))]
        return sorted({name for name in names if not name.startswith("_")})

    return __dir__
