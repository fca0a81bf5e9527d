"""How compiled code finds functions by name among those of its module and of what that imports.

Code that calls functions by name has a variable `CONTEXT`. tvm_ffi's loader puts a module object of
its own there; we put the address of a function object plus one, which is told apart by being odd.
Asked for a name, that function gives a function, or None: then the global registry is asked.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from tvm.ffi import get_global_func, library

if TYPE_CHECKING:
    from .module import Module

FFI_PREFIX: Final = "__tvm_ffi_"  # before the names of packed functions, as symbols
CONTEXT: Final = f"{FFI_PREFIX}_library_ctx"


def _nothing(name: str) -> Any:
    return None


class Finder:
    """Finds functions for compiled code, and keeps those that the code remembers.

    It holds the list of imports but not their importer, which holds this.
    """

    def __init__(
        self, imports: list[Module], own: Callable[[str], Any] | None = None
    ) -> None:
        self._imports = imports
        self._own = own or _nothing
        self._found: dict[str, Any] = {}
        # a closure over these parts and not over self: that would be a cycle through C
        self._function = library().convert(_finder(self._imports, self._own, self._found))

    def serve(self, context_address: int) -> None:
        """Let the code with this variable ask here, as long as this object lives."""
        variable = ctypes.c_void_p.from_address(context_address)
        variable.value = self._function.__chandle__() | 1


def _finder(
    imports: list[Module], own: Callable[[str], Any], found: dict[str, Any]
) -> Callable[[str], Any]:
    def find(name: str) -> Any:
        if name not in found:
            func = own(name)
            for module in imports:
                func = func if func is not None else module.find_function(name)
            if func is None:
                get_global_func(name, allow_missing=True)  # imports the module that has it
                return None
            found[name] = library().convert(func)
        return found[name]

    return find
