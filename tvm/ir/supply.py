"""Names and global variables that are fresh in a module."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tvm.error import TVMError
from tvm.ffi.object import Object
from tvm.support.arguments import explained
from tvm.support.naming import NameTable

from .expr import GlobalVar

if TYPE_CHECKING:
    from .module import IRModule


class NameSupply(Object):
    """Fresh names that are also Python identifiers."""

    __slots__ = ("_names", "prefix")

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self._names = NameTable()

    def _full(self, name: str, add_prefix: bool, add_underscore: bool = True) -> str:
        if add_prefix and self.prefix:
            name = f"{self.prefix}{'_' if add_underscore else ''}{name}"
        return re.sub(r"\W", "_", name)

    def fresh_name(self, name: str, add_prefix: bool = True, add_underscore: bool = True) -> str:
        """A name that starts with `name` and was not given before."""
        full = self._full(name, add_prefix)
        return self._names.fresh(full, "_" if add_underscore else "")

    def reserve_name(self, name: str, add_prefix: bool = True) -> str:
        """Take `name`, so that it is never given."""
        full = self._full(name, add_prefix)
        self._names.reserve(full)
        return full

    def contains_name(self, name: str, add_prefix: bool = True) -> bool:
        """True when `name` is taken."""
        return self._full(name, add_prefix) in self._names


class GlobalVarSupply(Object):
    """Fresh global variables beside those of modules."""

    __slots__ = ("_vars", "name_supply")

    @explained
    def __init__(self, value: NameSupply | IRModule | list[IRModule] | None = None) -> None:
        self.name_supply = value if isinstance(value, NameSupply) else NameSupply()
        self._vars: dict[str, GlobalVar] = {}
        modules = [] if value is None or isinstance(value, NameSupply) else value
        for module in modules if isinstance(modules, list) else [modules]:
            for var in module.get_global_vars():
                self.reserve_global(var)

    def fresh_global(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """A new global variable with a fresh name."""
        var = GlobalVar(self.name_supply.fresh_name(name, add_prefix))
        self._vars[var.name_hint] = var
        return var

    def unique_global_for(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """The one global variable called `name`, made at first need."""
        full = self.name_supply._full(name, add_prefix)
        if full not in self._vars:
            self.name_supply.reserve_name(name, add_prefix)
            self._vars[full] = GlobalVar(full)
        return self._vars[full]

    def reserve_global(self, global_var: GlobalVar, allow_conflict: bool = False) -> None:
        """Take the name of a global variable that exists already."""
        name = global_var.name_hint
        if name in self._vars and self._vars[name] is not global_var and not allow_conflict:
            raise TVMError(f"global variable {name!r} is reserved already by another variable")
        self._vars[name] = global_var
        self.name_supply.reserve_name(name, add_prefix=False)
