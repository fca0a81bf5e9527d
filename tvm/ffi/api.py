"""Registered functions as attributes of a module: `tvm.runtime._ffi_api.NumThreads`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .registry import get_global_func


def functions_below(module: str, prefix: str) -> Callable[[str], Any]:
    """A module `__getattr__` that finds the function registered as `prefix.name`."""

    def __getattr__(name: str) -> Any:
        found = None if name.startswith("__") else get_global_func(f"{prefix}.{name}", True)
        if found is None:
            raise AttributeError(
                f"module {module!r} has no attribute {name!r}: "
                f"no function is registered as '{prefix}.{name}'"
            )
        return found

    return __getattr__
